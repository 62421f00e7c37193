//! The pages. Every value goes through [`text`], which escapes it and makes invisible characters visible.

use std::fmt::Write as _;

use banksman_core::Case;
use banksman_core::redact::redacted;

use super::session::Session;

/// Escapes a text for HTML, and shows what would otherwise act unseen: control, bidirectional and zero-width
/// characters.
fn text(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 16);
    for c in value.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            c if is_unseen(c) => {
                let _ = write!(out, "<span class=unseen>\\u{{{:x}}}</span>", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'
                | '\u{17b5}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
        )
        || matches!(u32::from(c), 0x180b..=0x180f | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfe00..=0xfe0f | 0xfff0..=0xfffb | 0xe0000..=0xe0fff)
}

fn frame(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\n\
         <title>{title}</title><link rel=stylesheet href=\"/console.css\">\n<main>\n{body}\n</main></html>\n"
    )
}

pub(super) fn signed_out() -> String {
    frame(
        "Banksman",
        "<h1>Banksman</h1>\n<p>This server holds what AI agents want to do until a person gives the signal.</p>\n\
         <p>To sign in, use the link that <code>banksman serve</code> printed when it first started. From a terminal, \
         <code>banksman pending</code> shows what waits.</p>\n\
         <p>For agents: the API is described at <a href=\"/openapi.json\">/openapi.json</a>.</p>",
    )
}

pub(super) fn sign_in(code: &str) -> String {
    frame(
        "Sign in · Banksman",
        &format!(
            "<h1>Sign in to Banksman</h1>\n<form method=post action=\"/sign-in\">\
             <input type=hidden name=code value=\"{}\"><button class=approve>Sign in</button></form>",
            text(code)
        ),
    )
}

pub(super) fn bad_code() -> String {
    frame(
        "Sign in · Banksman",
        "<h1>This link does not work any more</h1>\n<p>A sign-in link works once, within 15 minutes, and until the server \
         restarts. Until the console has more ways in, use the command line: <code>banksman token new --kind reviewer \
         --name you</code>, then <code>banksman pending</code>.</p>",
    )
}

pub(super) fn inbox(session: &Session, waiting: &[Case], total: u64, remark: Option<&str>) -> String {
    let mut body = format!(
        "<header><h1>{}</h1><form method=post action=\"/sign-out\"><input type=hidden name=csrf value=\"{}\">\
         <span>{}</span> <button>Sign out</button></form></header>\n",
        match total {
            0 => "Nothing is waiting".to_owned(),
            1 => "One action is waiting".to_owned(),
            many => format!("{many} actions are waiting"),
        },
        text(&session.csrf),
        text(&session.person.name),
    );
    if let Some(remark) = remark {
        let _ = writeln!(body, "<p role=alert class=remark>Not decided: {}</p>", text(remark));
    }
    if waiting.is_empty() {
        body.push_str("<p>When an agent asks for something that policy holds, it appears here. Reload to look again.</p>\n");
    }
    for case in waiting {
        body.push_str(&card(session, case));
    }
    let hidden = total.saturating_sub(u64::try_from(waiting.len()).unwrap_or(u64::MAX));
    if hidden > 0 {
        let _ = writeln!(body, "<p>And {hidden} more, which appear as these are decided.</p>");
    }
    let title = if total > 0 { format!("({total}) Banksman") } else { "Banksman".to_owned() };
    frame(&title, &body)
}

fn card(session: &Session, case: &Case) -> String {
    let submission = &case.submission;
    let verdict = &submission.verdict;
    let approvals = case.approvals().count();
    let mut said = String::new();
    for (what, words) in
        [("Description", &submission.action.description), ("Rationale", &submission.action.rationale)]
    {
        if let Some(words) = words {
            let _ = write!(said, "<dt>{what}</dt><dd>{}</dd>", text(words));
        }
    }
    let said = if said.is_empty() {
        said
    } else {
        format!("<section class=untrusted><h3>The agent says (untrusted)</h3><dl>{said}</dl></section>")
    };
    let mut told = String::new();
    for message in &verdict.messages {
        let _ = writeln!(told, "<p class=message>{}</p>", text(message));
    }
    if let Some(triage) = &submission.assessment.triage
        && let Some(words) = triage.rationale.as_ref().or(triage.problem.as_ref())
    {
        let words = text(words);
        let _ = writeln!(
            told,
            "<section class=untrusted><h3>Triage says (untrusted)</h3><p>{words}</p></section>"
        );
    }
    let deadline = case.state.ends_at().map(|at| at.to_string()).unwrap_or_default();
    format!(
        "<article class=\"{risk}\"><h2>{tool}</h2>\n<p><b>{risk} risk</b> · asked by {agent} · expires {deadline} · rule {rule} · \
         {approvals} of {needed} approvals</p>\n<h3>Will run with exactly these arguments</h3><pre>{args}</pre>\n{told}\
         <p class=digest>{id} version {version}<br>{digest}</p>\n{said}\
         <form method=post action=\"/decide\"><input type=hidden name=csrf value=\"{csrf}\">\
         <input type=hidden name=id value=\"{id}\"><input type=hidden name=version value=\"{version}\">\
         <input type=hidden name=digest value=\"{digest}\">\
         <label>Reason{required} <input name=reason autocomplete=off></label>\
         <button class=approve name=decision value=approve>Approve</button>\
         <button class=deny name=decision value=deny>Deny</button></form></article>\n",
        risk = verdict.risk,
        tool = text(&submission.action.tool),
        agent = text(&case.agent),
        rule = text(&verdict.rule),
        needed = verdict.quorum.count(),
        args = text(redacted(&submission.action.args, &verdict.redact).as_str()),
        id = case.id,
        version = case.version,
        digest = submission.digest,
        csrf = text(&session.csrf),
        required = if verdict.require_reason { " (required)" } else { "" },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_written_becomes_markup_or_acts_unseen() {
        assert_eq!(text("<script>a&b\"'"), "&lt;script&gt;a&amp;b&quot;&#39;");
        for unseen in ['\u{1b}', '\u{202e}', '\u{200b}', '\u{2066}', '\u{feff}', '\u{7f}', '\u{e0041}', '\r']
        {
            let shown = text(&format!("a{unseen}b"));
            assert!(!shown.contains(unseen), "{shown:?}");
        }
    }
}
