//! House rules that a compiler does not know, as tests.

mod matches;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Tests run in the folder of their package. Not `CARGO_MANIFEST_DIR` of the build: clones share a target folder.
fn root() -> &'static Path {
    Path::new("..")
}

/// Every file that git knows or would take.
fn files() -> Vec<PathBuf> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(PathBuf::from)
        .filter(|path| root().join(path).is_file())
        .collect()
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(root().join(path)).unwrap()).into_owned()
}

/// Which of our crates each may depend on. Arrows point inward; nothing inner knows anything outer.
const ARROWS: &[(&str, &[&str])] = &[
    ("banksman-core", &[]),
    ("banksman-risk", &["banksman-core"]),
    ("banksman-config", &["banksman-core"]),
    ("banksman-policy", &["banksman-config", "banksman-core", "banksman-risk"]),
    ("banksman-ledger", &["banksman-core"]),
    ("banksman-memory", &[]),
    ("banksman-secrets", &[]),
    ("banksman-wal", &[]),
    ("banksman-store", &["banksman-core", "banksman-wal"]),
    ("banksman-outward", &[]),
    ("banksman-notify", &["banksman-core", "banksman-outward", "banksman-review"]),
    ("banksman-identity", &["banksman-core"]),
    (
        "banksman-engine",
        &["banksman-core", "banksman-identity", "banksman-ledger", "banksman-policy", "banksman-store"],
    ),
    (
        "banksman-mcp",
        &["banksman-config", "banksman-core", "banksman-secrets", "banksman-store", "banksman-engine"],
    ),
    (
        "banksman-oidc",
        &["banksman-config", "banksman-core", "banksman-identity", "banksman-outward", "banksman-secrets"],
    ),
    (
        "banksman-outbox",
        &[
            "banksman-config",
            "banksman-core",
            "banksman-policy",
            "banksman-store",
            "banksman-engine",
            "banksman-notify",
            "banksman-outward",
            "banksman-secrets",
        ],
    ),
    ("banksman-review", &["banksman-core"]),
    ("banksman-web", &["banksman-core", "banksman-review"]),
    (
        "banksman-http",
        &[
            "banksman-core",
            "banksman-identity",
            "banksman-notify",
            "banksman-store",
            "banksman-engine",
            "banksman-mcp",
            "banksman-oidc",
            "banksman-outbox",
            "banksman-web",
        ],
    ),
    ("banksman-client", &["banksman-core"]),
    ("banksman-tui", &["banksman-core", "banksman-review", "banksman-client"]),
    ("banksman-faults", &[]),
    (
        "banksman",
        &[
            "banksman-config",
            "banksman-core",
            "banksman-identity",
            "banksman-ledger",
            "banksman-policy",
            "banksman-risk",
            "banksman-store",
            "banksman-engine",
            "banksman-mcp",
            "banksman-memory",
            "banksman-oidc",
            "banksman-outbox",
            "banksman-http",
            "banksman-client",
            "banksman-review",
            "banksman-tui",
        ],
    ),
];

/// What the pure crates must not know: time, threads, sockets, databases, chance.
const PURE: &[&str] = &[
    "banksman-config",
    "banksman-core",
    "banksman-identity",
    "banksman-ledger",
    "banksman-risk",
    "banksman-policy",
    "banksman-review",
    "banksman-web",
];
const IMPURE: &[&str] =
    &["tokio", "rusqlite", "axum", "hyper", "reqwest", "ureq", "getrandom", "rand", "async-trait"];

/// The `[dependencies]` of a crate, not those of its tests.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = read(Path::new("crates").join(name).join("Cargo.toml").as_path());
    let mut names = Vec::new();
    let mut inside = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line == "[dependencies]";
        } else if inside
            && let Some(key) =
                line.split(['.', '=', ' ']).next().filter(|key| !key.is_empty() && !key.starts_with('#'))
        {
            names.push(key.to_owned());
        }
    }
    names
}

#[test]
fn tidy_arrows_point_inward() {
    let crates: Vec<String> = std::fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    for name in &crates {
        let allowed = ARROWS.iter().find(|(known, _)| known == name).map(|(_, allowed)| *allowed);
        let allowed = allowed.unwrap_or_else(|| panic!("say in ARROWS what {name} may depend on"));
        for dependency in dependencies(name) {
            if dependency.starts_with("banksman") {
                assert!(allowed.contains(&dependency.as_str()), "{name} must not depend on {dependency}");
            }
            if PURE.contains(&name.as_str()) {
                assert!(
                    !IMPURE.contains(&dependency.as_str()),
                    "{name} is pure and must not know {dependency}"
                );
            }
        }
    }
}

#[test]
fn tidy_every_permitted_arrow_is_there() {
    for (name, allowed) in ARROWS {
        let there = dependencies(name);
        let sources: String = files()
            .iter()
            .filter(|path| path.starts_with(format!("crates/{name}/src")))
            .map(|path| read(path))
            .collect();
        for permitted in *allowed {
            assert!(
                there.iter().any(|dependency| dependency == permitted),
                "{name} does not depend on {permitted}: take it out of ARROWS"
            );
            assert!(
                sources.contains(&permitted.replace('-', "_")),
                "nothing in {name} uses {permitted}: take it out of the manifest and of ARROWS"
            );
        }
    }
}

#[test]
fn tidy_no_catch_all_arm_over_what_is_decided_by() {
    let found: Vec<String> = files()
        .iter()
        .filter(|path| path.starts_with("crates") && path.components().any(|part| part.as_os_str() == "src"))
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter(|path| !path.ends_with("tests.rs") && !path.to_string_lossy().contains("/tests/"))
        .flat_map(|path| matches::catch_alls(&read(path)).into_iter().map(move |line| (path, line)))
        .map(|(path, line)| format!("{}:{line}", path.display()))
        .collect();
    assert!(
        found.is_empty(),
        "a match over a state, status, tier, decision or command names every variant, so that whoever adds one is led there \
         by the compiler: {found:#?}"
    );
}

/// How statements begin, as they stand in our sources.
const SQL: &[&str] = &[
    "\"SELECT ",
    "\"INSERT ",
    "\"UPDATE ",
    "\"DELETE FROM ",
    "\"CREATE TABLE",
    "\"CREATE INDEX",
    "\"ALTER TABLE",
    "\"PRAGMA ",
    "\"BEGIN IMMEDIATE",
];

/// Those who may know it besides the store: the writer of SQLite's log tests itself by it, what breaks PostgreSQL's lines
/// looks for it in what goes over them, and the analysers read what agents want to run.
const MAY_KNOW_SQL: &[&str] = &["banksman-store", "banksman-wal", "banksman-faults", "banksman-risk"];

#[test]
fn tidy_no_sql_outside_the_store() {
    for (name, _) in ARROWS.iter().filter(|(name, _)| !MAY_KNOW_SQL.contains(name)) {
        let databases = ["rusqlite", "tokio-postgres"];
        let known =
            dependencies(name).into_iter().find(|dependency| databases.contains(&dependency.as_str()));
        assert_eq!(known, None, "{name} depends on a database");
        for path in files().iter().filter(|path| path.starts_with(format!("crates/{name}/src"))) {
            if path.extension().is_some_and(|extension| extension == "rs") {
                let source = read(path);
                let found = SQL.iter().find(|start| source.contains(**start));
                assert_eq!(found, None, "{} contains SQL", path.display());
            }
        }
    }
}

/// Tests that cannot run say so by one function, which fails where none may be left out.
#[test]
fn tidy_no_test_skips_itself_silently() {
    for path in files() {
        let text = path.to_string_lossy().into_owned();
        if text.starts_with("crates/") && text.contains("/tests/") && text.ends_with(".rs") {
            let source = read(&path);
            for forbidden in ["\"skipped:", "BANKSMAN_MCP_PACKAGES"] {
                assert!(
                    !source.contains(forbidden),
                    "{text} contains {forbidden:?}: use banksman_faults::skip"
                );
            }
        }
    }
}

#[test]
fn tidy_pure_crates_read_no_clock_and_no_environment() {
    for path in files() {
        let text = path.to_string_lossy().into_owned();
        if PURE.iter().any(|name| text.starts_with(&format!("crates/{name}/src"))) && text.ends_with(".rs") {
            let source = read(&path);
            for forbidden in [
                "SystemTime",
                "Instant::now",
                "std::env",
                "std::fs",
                "std::net",
                "std::thread",
                "Timestamp::now",
            ] {
                assert!(!source.contains(forbidden), "{text} uses {forbidden}");
            }
        }
    }
}

#[test]
fn tidy_only_the_binary_names_a_concrete_store() {
    for path in files() {
        let text = path.to_string_lossy().into_owned();
        let may =
            ["crates/banksman/", "crates/banksman-store/", "crates/banksman-wal/", "crates/banksman-faults/"]
                .iter()
                .any(|folder| text.starts_with(folder));
        if !may && text.starts_with("crates/") && text.contains("/src/") && text.ends_with(".rs") {
            let source = read(&path);
            let named = ["sqlite::", "postgres::"].into_iter().find(|store| source.contains(store));
            assert_eq!(named, None, "{text} names a concrete store");
        }
    }
}

/// A file that has good reason to be longer says so in a line that starts with this.
const LONG: &str = "// Long because";

#[test]
fn tidy_files_are_small() {
    for path in files() {
        if path
            .extension()
            .is_some_and(|extension| ["rs", "py", "ts", "js", "css"].iter().any(|known| extension == *known))
        {
            let source = read(&path);
            let lines = source.lines().count();
            let excused = source.lines().any(|line| line.trim_start().starts_with(LONG));
            assert!(lines <= 500 || excused, "{} has {lines} lines", path.display());
        }
    }
}

#[test]
fn tidy_nothing_unfinished_or_private_is_left() {
    let here = root().canonicalize().unwrap().to_string_lossy().into_owned() + "/";
    for path in files() {
        let text = path.to_string_lossy().into_owned();
        if text.ends_with(".lock") || text == "xtask/src/tidy.rs" {
            continue;
        }
        let source = read(&path);
        for marker in ["TODO", "FIXME", "// XXX", "todo!(", "unimplemented!(", "#[ignore]", here.as_str()] {
            assert!(!source.contains(marker), "{text} contains {marker:?}");
        }
    }
}

#[test]
fn tidy_decision_records_are_numbered_without_gaps() {
    let mut numbers: Vec<usize> = files()
        .iter()
        .filter_map(|path| path.to_str()?.strip_prefix("docs/decisions/")?.get(..4)?.parse().ok())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=numbers.len()).collect::<Vec<_>>());
    assert!(!numbers.is_empty());
}

#[test]
fn tidy_whoever_looks_for_a_crate_or_a_page_finds_it() {
    let files: Vec<String> = files().iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let map = read(Path::new("ARCHITECTURE.md"));
    for (name, _) in ARROWS {
        let row = map.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("ARCHITECTURE.md: the code map does not name {name}"));
        // What a row names is there: files and folders of the crate, in whichever of its folders.
        for named in
            row.split('`').skip(1).step_by(2).filter(|word| word.ends_with(".rs") || word.ends_with('/'))
        {
            let known = files.iter().any(|path| {
                path.starts_with(&format!("crates/{name}/")) && path.contains(&format!("/{named}"))
            });
            assert!(known, "ARCHITECTURE.md: {name} has no {named}");
        }
    }
    let start = read(Path::new("README.md"));
    for path in &files {
        if path.starts_with("docs/") && path.ends_with(".md") && path.matches('/').count() == 1 {
            assert!(start.contains(&format!("]({path})")), "README.md does not lead to {path}");
        }
    }
}
