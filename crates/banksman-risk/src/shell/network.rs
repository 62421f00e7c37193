//! Programs that talk to the network: what they fetch and what they send.

use banksman_core::Span;

use super::paths::Reading;
use super::program::{is_shell, name_of};
use super::run::{Invocation, Runner};
use super::value::{Field, HOLE, Taint, Text};
use super::wrap::{option_value, options_end};
use crate::address::{Reach, Target};
use crate::catalogue::FlagName;
use crate::fact::{Access, Direction, Fact, UrlUse, Word};

/// What a program of the network does; nothing if it is none.
pub(super) fn run(
    runner: &mut Runner<'_, '_>,
    name: &str,
    invocation: &Invocation,
    read: &Reading,
) -> Option<Text> {
    match name {
        "curl" | "wget" | "wget2" | "http" | "https" | "xh" | "aria2c" | "axel" => {
            Some(transfer(runner, name, invocation))
        }
        "nc" | "ncat" | "netcat" | "telnet" | "socat" | "nc.traditional" | "nc.openbsd" => {
            Some(connection(runner, name, invocation))
        }
        "scp" | "rsync" | "sftp" | "rclone" => {
            copy(runner, invocation, read);
            None
        }
        "mail" | "mailx" | "mutt" | "sendmail" | "msmtp" | "swaks" | "ftp" | "lftp" | "tftp" => {
            runner.sent(&invocation.stdin.clone(), invocation.span);
            let taint = read.taint;
            runner.sent(&Text::unknown(taint.without(Taint::FILE)), invocation.span);
            None
        }
        "dig" | "nslookup" | "host" | "ping" | "getent" => {
            // A secret in a name that is looked up is told to whoever answers.
            for field in invocation.arguments() {
                runner.sent(&field.as_text(), field.span());
            }
            None
        }
        "openssl" if invocation.arguments().first().is_some_and(|field| field.text == "s_client") => {
            runner.sent(&invocation.stdin.clone(), invocation.span);
            Some(Text::unknown(Taint::DOWNLOAD | Taint::OUTPUT))
        }
        _ => None,
    }
}

/// What a transfer is made of.
#[derive(Default)]
struct Transfer {
    method: Option<String>,
    sends: bool,
    /// What goes out.
    data: Taint,
    urls: Vec<Field>,
    /// Where what comes in goes.
    output: Option<Field>,
    remote_name: bool,
}

fn transfer(runner: &mut Runner<'_, '_>, name: &str, invocation: &Invocation) -> Text {
    let arguments = invocation.arguments();
    let words: Vec<Word<'_>> = arguments.iter().map(Field::word).collect();
    let catalogue = runner.inspection.catalogue();
    let (_, parsed) = catalogue.arguments(name, &words);
    if parsed.help {
        return Text::unknown(Taint::NONE);
    }
    let mut transfer =
        Transfer { remote_name: !matches!(name, "curl" | "http" | "https" | "xh"), ..Transfer::default() };
    let mut options: Vec<(String, Field)> = Vec::new();
    for flag in &parsed.flags {
        let name = match flag.name {
            FlagName::Short(letter) => format!("-{letter}"),
            FlagName::Long(name) => name.to_owned(),
        };
        match flag.value {
            Some(value) => {
                let field = Field {
                    text: value.text().to_owned(),
                    taint: Taint::NONE,
                    glob: false,
                    origin: crate::origin::Origin::of_span(value.word().span),
                };
                options.push((name, field));
            }
            None => transfer.remote_name |= matches!(name.as_str(), "-O" | "--remote-name" | "-J"),
        }
    }
    let operands: Vec<Field> = parsed
        .operands
        .iter()
        .map(|word| Field {
            text: word.text.to_string(),
            taint: Taint::NONE,
            glob: false,
            origin: crate::origin::Origin::of_span(word.span),
        })
        .collect();
    drop(words);
    for (option, value) in options {
        transfer_option(runner, name, &option, value, invocation, &mut transfer);
    }
    let mut operands = operands.into_iter();
    if matches!(name, "http" | "https" | "xh") {
        let mut rest: Vec<Field> = operands.collect();
        if rest.first().is_some_and(|field| {
            field.text.len() < 8
                && field.text.bytes().all(|b| b.is_ascii_uppercase())
                && !field.text.is_empty()
        }) {
            transfer.method = Some(rest.remove(0).text);
        }
        let items = rest.split_off(rest.len().min(1));
        for item in items {
            if let Some((_, file)) = item.text.split_once('@').filter(|(key, _)| !key.contains('=')) {
                let content = runner.read_file(&item.with_text(file), item.span());
                transfer.data |= content.taint;
            }
            transfer.sends |= item.text.contains('=') && !item.text.contains("==");
        }
        operands = rest.into_iter();
    }
    transfer.urls.extend(operands);
    // A value that came from a secret goes out wherever it stands.
    for field in arguments {
        transfer.data |= field.taint.without(Taint::FILE);
    }
    finish(runner, invocation, transfer)
}

fn transfer_option(
    runner: &mut Runner<'_, '_>,
    program: &str,
    option: &str,
    value: Field,
    invocation: &Invocation,
    transfer: &mut Transfer,
) {
    let curl = program == "curl";
    match option {
        "-X" | "--request" | "--method" => transfer.method = Some(value.text.to_ascii_uppercase()),
        "-d" | "--data" | "--data-binary" | "--data-ascii" | "--data-urlencode" | "--json"
        | "--url-query"
            if curl =>
        {
            transfer.sends = true;
            let file = match value.text.split_once('@') {
                Some(("", file)) => Some(file),
                Some((key, file)) if option == "--data-urlencode" && !key.contains('=') => Some(file),
                _ => None,
            };
            if let Some(file) = file {
                transfer.data |= body(runner, &value.with_text(file), invocation);
            }
        }
        "--data-raw" => transfer.sends = true,
        "-F" | "--form" if curl => {
            transfer.sends = true;
            if let Some((_, file)) = value.text.split_once('=')
                && let Some(file) = file.strip_prefix(['@', '<'])
            {
                let file = file.split(';').next().unwrap_or(file);
                transfer.data |= body(runner, &value.with_text(file), invocation);
            }
        }
        "-T" | "--upload-file" | "--post-file" | "--body-file" => {
            transfer.sends = true;
            transfer.data |= body(runner, &value, invocation);
        }
        "--post-data" | "--body-data" => transfer.sends = true,
        "-o" | "--output" => transfer.output = Some(value),
        "-O" | "--output-document" if !curl => transfer.output = Some(value),
        "--url" => transfer.urls.push(value),
        "-K" | "--config" if curl && value.text == "-" => {
            runner.note_code(&invocation.stdin.clone(), value.origin, super::program::How::File);
        }
        _ => {}
    }
}

/// A file that is sent: where its content came from.
fn body(runner: &mut Runner<'_, '_>, file: &Field, invocation: &Invocation) -> Taint {
    if matches!(file.text.as_str(), "-" | "." | "/dev/stdin") {
        return invocation.stdin.taint;
    }
    runner.read_file(file, file.span()).taint
}

fn finish(runner: &mut Runner<'_, '_>, invocation: &Invocation, transfer: Transfer) -> Text {
    let sends = transfer.sends
        || transfer.method.as_deref().is_some_and(|method| !matches!(method, "GET" | "HEAD" | "OPTIONS"));
    let method = transfer.method.clone().unwrap_or_else(|| if sends { "POST" } else { "GET" }.to_owned());
    let mut outside = transfer.urls.is_empty();
    let mut last_name = None;
    for url in &transfer.urls {
        let span = url.span();
        if let Some(path) = url.text.strip_prefix("file://") {
            runner.read_file(&url.with_text(path), span);
            continue;
        }
        let target = Target::of(&url.text);
        outside |= target.reach != Reach::Loopback;
        let direction = if sends { Direction::Send } else { Direction::Fetch };
        let word = Word { text: url.text.as_str().into(), span, glob: false };
        let fact = Fact::Url(UrlUse { direction, method: Some(method.as_str().into()), url: word }, span);
        runner.inspection.state(&fact, span);
        if url.is_known() {
            runner.inspection.touch("url", &url.text);
        }
        let path = url.text.split(['?', '#']).next().unwrap_or_default();
        last_name = path.rsplit('/').next().filter(|name| !name.is_empty()).map(|name| url.with_text(name));
    }
    // What stays on this machine is only worth a look if it is not the project's own.
    if outside || transfer.data.has(Taint::FOREIGN | Taint::SECRET) {
        runner.sent(&Text::unknown(transfer.data), invocation.span);
    }
    let content = Text::unknown(Taint::DOWNLOAD | Taint::OUTPUT);
    let target = match transfer.output {
        Some(file) => Some(file),
        None if transfer.remote_name => last_name,
        None => None,
    };
    match target {
        Some(file) if super::redirect::is_stream(&file.text) => content,
        Some(file) => {
            runner.scope.write_file(&file.text, content, false);
            Text::default()
        }
        None => content,
    }
}

fn connection(runner: &mut Runner<'_, '_>, name: &str, invocation: &Invocation) -> Text {
    let arguments = invocation.arguments();
    let span = invocation.span;
    let program = option_value(arguments, &["-e", "-c", "--exec", "--sh-exec"])
        .filter(|_| name != "telnet" && name != "socat");
    if let Some(program) = program {
        let first = program.text.split_whitespace().next().unwrap_or_default();
        if is_shell(&name_of(first)) || first.contains("cmd") || first.contains("powershell") {
            runner.inspection.signal("reverse_shell", program.span());
        } else {
            runner.suspect_text(&program.text, program.origin);
        }
    }
    let cluster_runs = arguments.iter().any(|field| {
        field.text.len() > 2
            && field.text.starts_with('-')
            && !field.text.starts_with("--")
            && field.text.contains('e')
            && name != "telnet"
            && name != "socat"
    });
    if cluster_runs && arguments.iter().any(|field| is_shell(&name_of(&field.text))) {
        runner.inspection.signal("reverse_shell", span);
    }
    if name == "socat" {
        for field in arguments {
            let upper = field.text.to_ascii_uppercase();
            for mark in ["EXEC:", "SYSTEM:", "SHELL:"] {
                if upper.starts_with(mark) {
                    let code = field
                        .text
                        .get(mark.len()..)
                        .unwrap_or_default()
                        .split(',')
                        .next()
                        .unwrap_or_default();
                    let code = code.trim_matches(['\'', '"']);
                    let first = code.split_whitespace().next().unwrap_or_default();
                    if is_shell(&name_of(first)) {
                        runner.inspection.signal("reverse_shell", field.span());
                    } else {
                        runner.suspect_text(code, field.origin);
                    }
                }
            }
        }
    }
    if invocation.stdin.taint.has(Taint::SHELL) {
        runner.inspection.signal("reverse_shell", span);
    }
    let listens = arguments.iter().any(|field| {
        field.text.starts_with('-') && !field.text.starts_with("--") && field.text.contains('l')
    });
    let start = options_end(
        arguments,
        &["-e", "-c", "-p", "-s", "-w", "-q", "-i", "-x", "-X", "-b", "-g", "-G", "-I", "-O", "-T", "-V"],
    );
    if let Some(host) = arguments.get(start).filter(|_| !listens) {
        let at = host.span();
        let url = if name == "socat" { host.text.clone() } else { format!("tcp://{}", host.text) };
        let loopback = Target::of(&url).reach == Reach::Loopback;
        if host.is_known() && name != "socat" {
            runner.inspection.touch("host", &host.text);
        }
        if name != "socat" {
            let scans = arguments.iter().any(|field| field.text.starts_with('-') && field.text.contains('z'));
            let direction = if invocation.stdin.taint == Taint::NONE || scans {
                Direction::Connect
            } else {
                Direction::Send
            };
            let fact = Fact::Url(UrlUse { direction, method: None, url: Word::known(url, at) }, at);
            runner.inspection.state(&fact, at);
        }
        if !loopback || invocation.stdin.taint.has(Taint::FOREIGN | Taint::SECRET) {
            runner.sent(&invocation.stdin.clone(), span);
        }
    } else if listens {
        runner.sent(&Text::unknown(invocation.stdin.taint.without(Taint::FILE)), span);
    }
    Text::unknown(Taint::DOWNLOAD | Taint::OUTPUT)
}

/// Copies between machines: sent if the last one is elsewhere.
fn copy(runner: &mut Runner<'_, '_>, invocation: &Invocation, read: &Reading) {
    let arguments = invocation.arguments();
    let operands: Vec<&Field> = arguments.iter().filter(|field| !field.text.starts_with('-')).collect();
    let Some((last, sources)) = operands.split_last() else { return };
    if !is_remote(&last.text) {
        for source in sources.iter().filter(|source| is_remote(&source.text)) {
            let at = source.span();
            let word = Word::known(format!("ssh://{}", host_of(&source.text)), at);
            let fact = Fact::Url(UrlUse { direction: Direction::Fetch, method: None, url: word }, at);
            runner.inspection.state(&fact, at);
        }
        return;
    }
    let at = last.span();
    let word = Word::known(format!("ssh://{}", host_of(&last.text)), at);
    runner
        .inspection
        .state(&Fact::Url(UrlUse { direction: Direction::Send, method: None, url: word }, at), at);
    if !last.text.contains(HOLE) {
        runner.inspection.touch("host", host_of(&last.text));
    }
    let mut taint = read.taint;
    for source in sources.iter().filter(|source| !is_remote(&source.text)) {
        taint |= runner.read_file(source, source.span()).taint;
    }
    runner.sent(&Text::unknown(taint), invocation.span);
    runner.path_written_elsewhere(last);
}

fn is_remote(text: &str) -> bool {
    match text.split_once(':') {
        Some((host, _)) => !host.is_empty() && !host.contains('/') && host.len() > 1,
        None => false,
    }
}

fn host_of(text: &str) -> &str {
    let host = text.split_once(':').map_or(text, |(host, _)| host);
    host.rsplit('@').next().unwrap_or(host)
}

impl Runner<'_, '_> {
    /// Something goes out to the network: what it is made of decides how bad that is.
    pub(super) fn sent(&mut self, data: &Text, span: Span) {
        if data.taint.has(Taint::SECRET) {
            self.inspection.signal("secret_sent", span);
        }
        if data.taint.has(Taint::ENVIRONMENT) {
            self.inspection.signal("secret_env", span);
        }
        if data.taint.has(Taint::FILE) && !data.taint.has(Taint::SECRET) {
            self.inspection.signal("file_sent", span);
        }
    }

    /// A path on another machine that is written: `host:/etc/passwd`.
    fn path_written_elsewhere(&mut self, remote: &Field) {
        if let Some((_, path)) = remote.text.split_once(':')
            && path.starts_with('/')
        {
            let file = remote.with_text(path);
            self.path(Access::Write, &file, file.span());
        }
    }
}
