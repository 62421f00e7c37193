//! Projects that live among the system's own folders, as they do in containers and on web servers.

use std::borrow::Cow;

use super::normalise;
use crate::fact::{Command, Fact, PathUse, Word};

/// Folders of the system below which people keep projects, each in a folder of its own.
const HOMES: &[&str] = &["/usr/src/", "/usr/local/src/", "/opt/", "/var/www/"];

/// Folders that are usually a project themselves.
const WHOLE: &[&str] = &["/usr/app", "/usr/local/app", "/usr/share/nginx/html", "/var/app", "/var/task"];

/// Below `HOMES`, but installed rather than worked on.
const INSTALLED: &[&str] =
    &["bin", "sbin", "lib", "lib64", "libexec", "etc", "share", "local", "homebrew", "containerd", "cni"];

/// The working folder as a path without detours, if it is a project's although it lies among the system's own.
///
/// Whoever proposes an action names the folder, so only where projects usually are is it believed: to say that one
/// works in `/usr/lib` does not make that a project.
pub(crate) fn project_folder(folder: &str) -> Option<String> {
    let normal = normalise(folder, None);
    let is_one = |home: &&str| {
        normal.strip_prefix(*home).is_some_and(|below| {
            let name = below.split('/').next().unwrap_or_default();
            !name.is_empty() && !name.contains(['*', '?', '[', Word::HOLE]) && !INSTALLED.contains(&name)
        })
    };
    let is_whole = |whole: &&str| below(&normal, whole).is_some();
    (HOMES.iter().any(is_one) || WHOLE.iter().any(is_whole)).then(|| normal.into_owned())
}

/// The same fact, told from inside the project, if that is where it happens.
pub(crate) fn within_project<'s>(fact: &Fact<'s>, project: &str) -> Option<Fact<'s>> {
    match fact {
        Fact::Path(used) => {
            let normal = normalise(&used.path.text, used.base.as_deref());
            let inside = below(&normal, project)?.to_owned();
            let path = Word { text: Cow::Owned(inside), ..used.path.clone() };
            Some(Fact::Path(PathUse { path, base: None, ..used.clone() }))
        }
        Fact::Command(command) => {
            let base = command.base.as_deref().map(|base| normalise(base, None));
            let inside = base.as_deref().map_or(Some("."), |base| below(base, project))?.to_owned();
            let at_top = inside == ".";
            let mut command = Command { base: Some(Cow::Owned(inside)), ..command.clone() };
            for word in command.args.iter_mut().filter(|_| at_top) {
                if let Some(rest) = below(&normalise(&word.text, None), project) {
                    word.text = Cow::Owned(rest.to_owned());
                }
            }
            Some(Fact::Command(command))
        }
        Fact::Call(_) | Fact::Statement(_) | Fact::Url(..) | Fact::Tool(_) | Fact::Signal(..) => None,
    }
}

/// What is left of a path below a folder; `.` if it is the folder.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    match path.strip_prefix(folder)? {
        "" => Some("."),
        rest => rest.strip_prefix('/'),
    }
}

#[cfg(test)]
mod tests {
    use super::project_folder;

    #[test]
    fn only_where_people_keep_projects_is_a_folder_of_the_system_one() {
        for (folder, project) in [
            ("/usr/src/app", Some("/usr/src/app")),
            ("/opt/shop/../shop/web/", Some("/opt/shop/web")),
            ("/var/www/html", Some("/var/www/html")),
            ("/usr/app", Some("/usr/app")),
            ("/usr/src", None),
            ("/opt", None),
            ("/opt/*", None),
            ("/opt/\0", None),
            ("/opt/homebrew/lib", None),
            ("/usr/src/../lib", None),
            ("/usr/application", None),
            ("/var/lib/postgresql", None),
            ("/etc", None),
            ("/", None),
            ("/home/me/project", None),
            ("src", None),
        ] {
            assert_eq!(project_folder(folder).as_deref(), project, "{folder}");
        }
    }
}
