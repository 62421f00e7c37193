//! A path without detours, as far as that can be said without looking at the disk.

use std::borrow::Cow;

use crate::address::decode_percent;

/// The hole of [`Word`](crate::fact::Word), as a byte.
const HOLE: u8 = 0;

/// A path without `.`, `..` and doubled slashes, as far as that can be done without looking at the disk.
///
/// What comes out is `/a/b`, `~/a`, `~user/a`, `c:/a` (drives in lower case, slashes forward; `\\\\server` is `/net/server`)
/// or a relative path, which then begins with `..` only if it leaves the working directory. A part that is not known is
/// never cancelled by a `..` after it, because it may hold slashes itself.
pub(crate) fn normalise<'p>(path: &'p str, base: Option<&str>) -> Cow<'p, str> {
    if is_plain(path) && (base.is_none() || path.starts_with('/')) {
        return under_other_root(path).map_or(Cow::Borrowed(path), Cow::Owned);
    }
    Cow::Owned(Normal::of(path, base).text)
}

/// Whether `..` leads from one top-level folder to another: `/tmp/../etc/passwd`, `../../../etc/passwd`.
pub(super) fn is_detour(path: &str, normal: &str) -> bool {
    if !path.contains("..") {
        return false;
    }
    if normal.starts_with('/') {
        // A path that began where it ends took no detour: `/etc/x/../passwd`.
        return path.starts_with('/') && first_named(path) != first_named(normal);
    }
    normal.starts_with("../") && first_named(normal).is_some_and(|name| SYSTEM_TOPS.contains(&name))
}

fn first_named(path: &str) -> Option<&str> {
    path.split(['/', '\\']).find(|part| !matches!(*part, "" | "." | ".."))
}

/// Top-level folders that no project has beside it.
const SYSTEM_TOPS: &[&str] =
    &["etc", "proc", "root", "usr", "var", "boot", "sys", "dev", "Windows", "windows", "WINDOWS"];

/// Whether nothing has to be done, which is the case for nearly every path.
fn is_plain(path: &str) -> bool {
    let bytes = path.as_bytes();
    if matches!(bytes, [] | [b'$' | b'%' | b'\\', ..] | [.., b'/']) || bytes.get(1) == Some(&b':') {
        return path == "/";
    }
    if bytes.len() > 5 && path.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file:")) {
        return false;
    }
    let mut at_start = true;
    let mut previous = 0u8;
    for byte in bytes {
        match byte {
            b'\\' => return false,
            b'/' if previous == b'/' && path.len() > 1 => return false,
            b'.' if at_start => return false,
            _ => {}
        }
        at_start = *byte == b'/';
        previous = *byte;
    }
    true
}

/// A path that is being put together.
struct Normal {
    text: String,
    /// The length of what `..` cannot take away: `/`, `~`, `c:`.
    anchor: usize,
}

impl Normal {
    fn of(path: &str, base: Option<&str>) -> Self {
        let path = prepare(path);
        let mut normal = Self { text: String::with_capacity(path.len() + 16), anchor: 0 };
        let rest = normal.take_anchor(&path);
        // What begins with a hole may be absolute: then no base applies to it.
        if let Some(base) = base
            && normal.anchor == 0
            && path.as_bytes().first() != Some(&HOLE)
        {
            let base = prepare(base);
            let below = normal.take_anchor(&base);
            normal.walk(below);
        }
        normal.walk(rest);
        if normal.text.is_empty() {
            normal.text.push('.');
        }
        if let Some(root) = under_other_root(&normal.text) {
            normal.text = root;
        }
        normal
    }

    /// Takes what a path is anchored to, and returns what is left of it.
    fn take_anchor<'t>(&mut self, path: &'t str) -> &'t str {
        let bytes = path.as_bytes();
        let end = match bytes {
            [b'/', ..] => {
                self.text.push('/');
                self.anchor = 1;
                return path.get(1..).unwrap_or_default();
            }
            [b'~', ..] => path.find('/').unwrap_or(path.len()),
            [drive, b':', ..] if drive.is_ascii_alphabetic() => 2,
            _ => return path,
        };
        self.text.push_str(path.get(..end).unwrap_or_default());
        if end == 2 && bytes.get(1) == Some(&b':') {
            self.text.make_ascii_lowercase();
        }
        self.anchor = self.text.len();
        path.get(end..).unwrap_or_default()
    }

    fn walk(&mut self, rest: &str) {
        for part in rest.split('/') {
            match part {
                "" | "." => {}
                ".." => self.go_up(),
                _ => self.push(part),
            }
        }
    }

    fn push(&mut self, part: &str) {
        if !self.text.is_empty() && !self.text.ends_with('/') {
            self.text.push('/');
        }
        self.text.push_str(part);
    }

    fn go_up(&mut self) {
        let below = self.text.get(self.anchor..).unwrap_or_default();
        let last = below.rsplit('/').next().unwrap_or_default();
        if last == ".." || last.as_bytes().contains(&HOLE) || (below.is_empty() && self.anchor == 0) {
            self.push("..");
        } else if !below.is_empty() {
            let keep = self.text.len() - last.len();
            // The slash before it goes too, unless it is the root's own.
            let keep = if keep > self.anchor { keep - 1 } else { keep };
            self.text.truncate(keep.max(self.anchor));
        } else if self.text.starts_with('~') {
            // Homes are below /home, wherever this one is.
            self.text = if self.text == "~root" { "/".to_owned() } else { "/home".to_owned() };
            self.anchor = 1;
        }
    }
}

/// Undoes what only is spelling: `file://` URLs, backslashes, variables for well-known folders.
fn prepare(path: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(path);
    if let Some(url) = strip_ignoring_case(path, "file:") {
        let local = strip_ignoring_case(url, "//localhost/").map_or_else(
            || match url.strip_prefix("//") {
                Some(rest) if !rest.starts_with('/') => {
                    rest.find('/').map_or("", |at| rest.get(at..).unwrap_or_default())
                }
                Some(rest) => rest,
                None => url,
            },
            // The slash that ends the host begins the path.
            |rest| url.get(url.len() - rest.len() - 1..).unwrap_or_default(),
        );
        let mut decoded = decode_percent(local);
        // file:///C:/x
        if let [b'/', drive, b':', ..] = decoded.as_bytes()
            && drive.is_ascii_alphabetic()
        {
            decoded.remove(0);
        }
        text = Cow::Owned(decoded);
    }
    for (spelled, meant) in WELL_KNOWN {
        if let Some(rest) = strip_ignoring_case(&text, spelled)
            && (rest.is_empty() || rest.starts_with(['/', '\\']))
        {
            text = Cow::Owned(format!("{meant}{rest}"));
            break;
        }
    }
    if text.contains('\\') && is_windows(&text) {
        let mut slashed = text.replace('\\', "/");
        for prefix in ["//?/", "//./"] {
            if let Some(rest) = slashed.strip_prefix(prefix) {
                let is_drive = rest.as_bytes().get(1) == Some(&b':');
                slashed = if is_drive { rest.to_owned() } else { format!("/dev/{rest}") };
            }
        }
        if let Some(share) = slashed.strip_prefix("//") {
            slashed = format!("/net/{share}");
        }
        text = Cow::Owned(slashed);
    }
    match text.find("::$") {
        // The main stream of a file on NTFS, spelled out.
        Some(at) if text.get(at..).is_some_and(|tail| tail.eq_ignore_ascii_case("::$DATA")) => {
            Cow::Owned(text.get(..at).unwrap_or_default().to_owned())
        }
        _ => text,
    }
}

/// Variables that stand for a folder wherever they are used. A shell has expanded them before; a tool's argument has
/// not, and may be expanded by the tool.
const WELL_KNOWN: &[(&str, &str)] = &[
    ("$HOME", "~"),
    ("${HOME}", "~"),
    ("$env:USERPROFILE", "~"),
    ("%USERPROFILE%", "~"),
    ("%HOMEPATH%", "~"),
    ("%APPDATA%", "~/AppData/Roaming"),
    ("%LOCALAPPDATA%", "~/AppData/Local"),
    ("%TEMP%", "/tmp"),
    ("%TMP%", "/tmp"),
    ("$TMPDIR", "/tmp"),
    ("${TMPDIR}", "/tmp"),
    ("$env:TEMP", "/tmp"),
    ("%SystemRoot%", "c:/Windows"),
    ("%WINDIR%", "c:/Windows"),
    ("%ProgramFiles%", "c:/Program Files"),
    ("%SystemDrive%", "c:"),
];

/// Whether its backslashes are separators. On Unix a backslash may be part of a name, but hardly ever is.
fn is_windows(path: &str) -> bool {
    let bytes = path.as_bytes();
    matches!(bytes, [drive, b':', ..] if drive.is_ascii_alphabetic())
        || matches!(bytes, [b'\\', ..] | [b'.' | b'~', b'\\', ..] | [b'.', b'.', b'\\', ..])
        || !path.contains('/')
        || path.starts_with('~')
        || path.starts_with("/tmp\\")
}

/// The same place, reached through another root: `/proc/self/root/etc`, macOS's `/private/etc`, WSL's `/mnt/c`.
fn under_other_root(path: &str) -> Option<String> {
    let rest = path.strip_prefix('/')?;
    if let Some(process) = rest.strip_prefix("proc/") {
        let (_, below) = process.split_once('/')?;
        let below = below.strip_prefix("root").filter(|tail| tail.is_empty() || tail.starts_with('/'))?;
        return Some(if below.is_empty() { "/".to_owned() } else { below.to_owned() });
    }
    if let Some(below) = rest.strip_prefix("private/")
        && ["etc", "tmp", "var"]
            .iter()
            .any(|top| below.strip_prefix(top).is_some_and(|tail| tail.is_empty() || tail.starts_with('/')))
    {
        return Some(format!("/{below}"));
    }
    let drive = rest.strip_prefix("mnt/").or_else(|| rest.strip_prefix("cygdrive/"))?;
    let letter = drive.chars().next().filter(char::is_ascii_alphabetic)?;
    let below = drive.get(1..).filter(|tail| tail.is_empty() || tail.starts_with('/'))?;
    Some(format!("{}:{below}", letter.to_ascii_lowercase()))
}

fn strip_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let start = text.get(..prefix.len())?;
    if start.eq_ignore_ascii_case(prefix) { text.get(prefix.len()..) } else { None }
}
