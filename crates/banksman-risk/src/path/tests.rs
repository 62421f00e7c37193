use super::Place::{self, *};
use super::{Places, normalise};

#[test]
fn paths_lose_their_detours() {
    for (path, base, normal) in [
        ("/etc/passwd", None, "/etc/passwd"),
        ("//etc//passwd/", None, "/etc/passwd"),
        ("/tmp/../etc/./passwd", None, "/etc/passwd"),
        ("/../../etc", None, "/etc"),
        ("a/../..", None, ".."),
        ("./a/./b/", None, "a/b"),
        ("", None, "."),
        (".", Some("/tmp"), "/tmp"),
        ("x", Some("/tmp/"), "/tmp/x"),
        ("../x", Some("/tmp"), "/x"),
        ("/x", Some("/tmp"), "/x"),
        ("x", Some("~/a"), "~/a/x"),
        ("~/x/..", Some("/tmp"), "~"),
        ("~/../..", None, "/"),
        ("~root/..", None, "/"),
        ("\0/../x", None, "\0/../x"),
        ("\0/x", Some("/tmp"), "\0/x"),
        ("/a\0/../b", None, "/a\0/../b"),
        (r"C:\Windows\..\Users\me", None, "c:/Users/me"),
        (r"..\x", None, "../x"),
        (r"\\server\share\x", None, "/net/server/share/x"),
        (r"\\?\C:\x", None, "c:/x"),
        ("file:///etc/%70asswd", None, "/etc/passwd"),
        ("file://localhost/etc/passwd", None, "/etc/passwd"),
        ("file:///C:/Windows", None, "c:/Windows"),
        ("FILE:/etc/passwd", None, "/etc/passwd"),
        ("$HOME/.ssh/x", None, "~/.ssh/x"),
        ("/proc/self/root/etc/shadow", None, "/etc/shadow"),
        ("/private/etc/hosts", None, "/etc/hosts"),
        ("/mnt/c/Windows", None, "c:/Windows"),
        ("foo..bar/...", None, "foo..bar/..."),
    ] {
        assert_eq!(normalise(path, base), normal, "{path:?} in {base:?}");
    }
}

#[test]
fn paths_lead_to_places() {
    let cases: &[(&str, &[Place])] = &[
        ("/", &[Root]),
        ("/*", &[Root]),
        ("/tmp/..", &[Root]),
        ("/$X", &[Outside]),
        ("/\0", &[Root, Unknown]),
        ("C:\\", &[Root]),
        ("~", &[Home]),
        ("~/*", &[Home]),
        ("/home/me/", &[Home]),
        ("/home", &[Home]),
        ("/Users/me/x", &[InHome]),
        ("~/x", &[InHome]),
        ("~/\0", &[InHome, Unknown]),
        ("/etc", &[System]),
        ("/etc/\0", &[System]),
        ("/etc/passwd", &[System]),
        ("/tmp/../etc/passwd", &[System, Detour]),
        ("../../../etc/passwd", &[System, Detour, Outside]),
        ("/etc/x/../passwd", &[System]),
        ("C:\\Windows\\System32", &[System]),
        ("/dev/sda1", &[System, Device]),
        ("/dev/sd*", &[System, Device]),
        ("/dev/null", &[Stream]),
        ("/dev/fd/2", &[Stream]),
        ("/dev/shm/x", &[Scratch]),
        ("/etc/shadow", &[System, Secret]),
        ("/ETC/Shadow", &[System, Secret]),
        ("/proc/1/environ", &[System, Secret]),
        ("/root", &[Home, Secret]),
        ("/root/project/x.py", &[InHome]),
        ("~/.ssh/id_rsa", &[InHome, Secret]),
        ("~/.ssh/id_rsa.pub", &[InHome]),
        ("~/.ssh/known_hosts", &[InHome]),
        ("~/.ssh", &[InHome, Secret]),
        ("~/.ssh/authorized_keys", &[InHome, Secret, Persistence]),
        ("\0/.ssh/id_rsa", &[Unknown, Secret]),
        (".env", &[Project, Secret]),
        (".env.local", &[Project, Secret]),
        (".env.example", &[Project]),
        (".env.test.sample", &[Project]),
        ("loop/.env.a b", &[Project]),
        ("prod.env", &[Project, Secret]),
        ("words about .env", &[Project]),
        ("example.env", &[Project]),
        ("src/environment.ts", &[Project]),
        ("private.pem", &[Project, Secret]),
        ("fullchain.pem", &[Project]),
        ("ca.pem", &[Project]),
        ("server.key", &[Project, Secret]),
        ("keyboard.ts", &[Project]),
        ("~/.aws/credentials", &[InHome, Secret]),
        ("~/.docker/config.json", &[InHome, Secret]),
        ("~/.config/gcloud/x", &[InHome, Secret]),
        ("terraform.tfstate", &[Project, Secret]),
        ("~/Library/Application Support/Google/Chrome/Default/Login Data", &[InHome, Secret]),
        ("~/.bashrc", &[InHome, Persistence]),
        ("/etc/cron.d/x", &[System, Persistence]),
        ("~/Library/LaunchAgents/x.plist", &[InHome, Persistence]),
        (".git/hooks/pre-commit", &[Project, VersionControl, Persistence]),
        (".git", &[Project, VersionControl]),
        (".gitignore", &[Project]),
        (".claude/settings.json", &[Project, AgentSettings]),
        (".claude/worktrees/a/src/x.rs", &[Project]),
        ("CLAUDE.md", &[Project, AgentInstructions]),
        ("banksman-data/banksman.db", &[Project, Banksman]),
        ("~/.config/banksman/x", &[InHome, Banksman]),
        ("/usr/local/bin/banksman", &[System, Banksman]),
        ("crates/banksman/src/main.rs", &[Project]),
        (".", &[Here]),
        ("*", &[Here]),
        ("./*", &[Here]),
        ("./.*", &[Here]),
        ("*.txt", &[Project]),
        ("src/*", &[Project]),
        ("..", &[Here, Outside]),
        ("../x", &[Outside]),
        ("/data/x", &[Outside]),
        ("/build/x", &[Outside]),
        ("/tmp", &[Temp]),
        ("/tmp/*", &[Temp]),
        ("/tmp/x", &[Scratch]),
        ("/var/tmp/x", &[Scratch]),
        ("node_modules", &[Project, Scratch]),
        ("node_modules/*", &[Project, Scratch]),
        ("node_modules/../src", &[Project]),
        ("a/target/x", &[Project, Scratch]),
        ("target.rs", &[Project]),
        ("/usr/lib/node_modules", &[System]),
        ("/var/lib/apt/lists/x", &[System, Scratch]),
        ("\0", &[Unknown]),
        ("\0/x", &[Unknown]),
        ("\0/node_modules", &[Unknown, Scratch]),
        ("src/\0", &[Project]),
    ];
    for (path, wanted) in cases {
        let mut places = Places::default();
        wanted.iter().for_each(|place| places.add(*place));
        assert_eq!(Places::of(path, None), places, "{path:?} should be {wanted:?}");
    }
}

#[test]
fn the_working_directory_counts() {
    assert!(Places::of("etc", Some("/")).has(System));
    assert!(Places::of("*", Some("/tmp")).has(Temp));
    assert!(Places::of("x", Some("/tmp")).has(Scratch));
    assert!(Places::of(".", Some("~")).has(Home));
    assert!(Places::of("..", Some("src")).has(Here));
    assert!(Places::of("../..", Some("src")).has(Outside));
    assert!(Places::of("x", Some("\0")).has(Unknown));
}
