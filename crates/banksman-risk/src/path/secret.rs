//! Which files hold keys, passwords and tokens, by name and by the folder that they are in.

/// Folders in which everything is a secret, wherever they are.
const FOLDERS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".password-store",
    "keychains",
    ".bitcoin",
    ".electrum",
    ".ethereum",
    ".monero",
    ".vault",
    ".step",
    ".1password",
];

/// Two folders, one in the other, with everything below.
const NESTED: &[(&str, &str)] = &[
    (".config", "gcloud"),
    (".config", "gh"),
    (".config", "op"),
    (".config", "hub"),
    (".config", "sops"),
    (".config", "solana"),
    (".config", "doctl"),
    (".config", "rclone"),
    (".config", "github-copilot"),
    (".config", "containers"),
    (".local", "keyrings"),
    ("share", "keyrings"),
    ("run", "secrets"),
    ("ssl", "private"),
    ("pki", "private"),
    ("kubernetes", "pki"),
    (".terraform.d", "credentials.tfrc.json"),
    (".docker", "config.json"),
    (".gem", "credentials"),
    (".cargo", "credentials"),
    (".cargo", "credentials.toml"),
    (".vnc", "passwd"),
    (".ethereum", "keystore"),
    ("microsoft", "credentials"),
    ("microsoft", "protect"),
];

/// Files, by their whole name.
const NAMES: &[&str] = &[
    ".bash_history",
    ".boto",
    ".claude.json",
    ".credentials.json",
    ".dockercfg",
    ".dockerconfigjson",
    ".envrc",
    ".fetchmailrc",
    ".git-credentials",
    ".history",
    ".htpasswd",
    ".k5login",
    ".lesshst",
    ".my.cnf",
    ".mylogin.cnf",
    ".mysql_history",
    ".netrc",
    ".node_repl_history",
    ".npmrc",
    ".pgpass",
    ".psql_history",
    ".pypirc",
    ".python_history",
    ".rediscli_history",
    ".rhosts",
    ".s3cfg",
    ".sh_history",
    ".sqlite_history",
    ".terraformrc",
    ".vault-token",
    ".yarnrc.yml",
    ".zsh_history",
    "_netrc",
    "accesstokens.json",
    "application_default_credentials.json",
    "auth.json",
    "consolehost_history.txt",
    "cookies.sqlite",
    "credentials.csv",
    "credentials.db",
    "credentials.ini",
    "credentials.json",
    "credentials.toml",
    "credentials.xml",
    "credentials.yaml",
    "credentials.yml",
    "fish_history",
    "hosts.equiv",
    "key3.db",
    "key4.db",
    "kubeconfig",
    "kubeconfig.yaml",
    "kubeconfig.yml",
    "login data",
    "login.keychain",
    "login.keychain-db",
    "logins.json",
    "ntds.dit",
    "password.txt",
    "passwords.csv",
    "passwords.txt",
    "pgpass.conf",
    "secret.yaml",
    "secret.yml",
    "secrets.env",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "signons.sqlite",
    "token.json",
    "unattend.xml",
    "wallet.dat",
    "wp-config.php",
];

/// Files, by how their names end.
const ENDINGS: &[&str] = &[
    ".agekey",
    ".jks",
    ".kdb",
    ".kdbx",
    ".key",
    ".keychain",
    ".keystore",
    ".keytab",
    ".kubeconfig",
    ".ovpn",
    ".p12",
    ".p8",
    ".pfx",
    ".pkcs12",
    ".ppk",
    ".tfstate",
    ".tfstate.backup",
    ".tfvars",
    ".tfvars.json",
    "_dsa",
    "_ecdsa",
    "_ed25519",
    "_rsa",
    "-service-account.json",
    "_service_account.json",
];

/// What is below `/etc` and only for root.
const SYSTEM: &[&str] = &[
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/master.passwd",
    "/etc/security/opasswd",
    "/etc/krb5.keytab",
    "/etc/kubernetes/admin.conf",
    "/etc/rancher/k3s/k3s.yaml",
    "/etc/ppp/chap-secrets",
    "/etc/wireguard",
    "/etc/letsencrypt/live",
    "/etc/letsencrypt/archive",
    "/proc/kcore",
    "/dev/mem",
    "/dev/kmem",
    "/dev/port",
];

/// Whether a path leads to a secret. It is normalised and in lower case; `name` is its last part.
pub(super) fn is_secret(path: &str, name: &str) -> bool {
    if SYSTEM.iter().any(|file| {
        path.strip_prefix(file)
            .is_some_and(|rest| matches!(rest.as_bytes(), [] | [b'/' | b'-' | b'~' | b'.', ..]))
    }) {
        return true;
    }
    if let Some(process) = path.strip_prefix("/proc/") {
        return matches!(process.split_once('/'), Some((_, "environ" | "mem" | "auxv" | "maps")));
    }
    is_public(name) == Some(false) || (is_public(name).is_none() && in_secret_folder(path, name))
}

/// What the name alone says: `Some(true)` it can be shown to anybody, `Some(false)` it is a secret.
fn is_public(name: &str) -> Option<bool> {
    if name.ends_with(".pub") || name.starts_with("known_hosts") || name.ends_with(".md") {
        return Some(true);
    }
    if let Some(public) = environment_file(name) {
        return Some(public);
    }
    if let Some(stem) = name.strip_suffix(".pem") {
        // Certificates have the same ending as the keys to them, and are made to be shown.
        let certificate = ["cert", "chain", "crt", "public", "-pub", "_pub"]
            .iter()
            .any(|part| stem.contains(part))
            || stem.split(['-', '_', '.']).any(|word| word == "ca" || word == "cacert" || word == "bundle");
        return Some(certificate);
    }
    if NAMES.binary_search(&name).is_ok()
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || is_numbered_key(name)
    {
        return Some(false);
    }
    None
}

/// `.env`, `.env.local`, `prod.env`; not the examples that are committed.
fn environment_file(name: &str) -> Option<bool> {
    const EXAMPLES: &[&str] =
        &["example", "sample", "template", "dist", "tpl", "tmpl", "defaults", "schema", "d"];
    if name == ".env" || name == "_env" {
        return Some(false);
    }
    if let Some(variant) = name.strip_prefix(".env.") {
        if variant.split('.').any(|word| EXAMPLES.contains(&word)) {
            return Some(true);
        }
        let is_word =
            variant.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | 0 | b'*'));
        return is_word.then_some(false);
    }
    // Not what merely ends in it: a sentence that was taken for a path.
    let stem = name.strip_suffix(".env").filter(|stem| !stem.contains(char::is_whitespace))?;
    Some(stem.split(['.', '-', '_']).any(|word| EXAMPLES.contains(&word)))
}

/// `id_rsa`, `id_ed25519_work`, `service-account-3.json`, `client_secret_x.json`, `ssh_host_rsa_key`.
fn is_numbered_key(name: &str) -> bool {
    let key_type =
        |rest: &str| ["rsa", "dsa", "ecdsa", "ed25519", "xmss"].iter().any(|kind| rest.starts_with(kind));
    if let Some(rest) = name.strip_prefix("id_") {
        return key_type(rest);
    }
    if name.starts_with("ssh_host_") && name.ends_with("_key") {
        return true;
    }
    let json =
        ["service-account", "service_account", "serviceaccount", "client_secret", "gcp-key", "gcloud-key"];
    if json.iter().any(|start| name.starts_with(start)) && name.ends_with(".json") {
        return true;
    }
    (name.starts_with("private_key") || name.starts_with("private-key") || name.starts_with("privatekey"))
        && !name.contains(".py")
        && !name.contains(".js")
        && !name.contains(".ts")
        && !name.contains(".rs")
        && !name.contains(".go")
}

fn in_secret_folder(path: &str, name: &str) -> bool {
    let mut previous = "";
    for part in path.split('/') {
        if FOLDERS.contains(&part) || NESTED.contains(&(previous, part)) {
            return true;
        }
        previous = part;
    }
    // What browsers and clouds call generically is only a secret where they keep it.
    match name {
        "credentials" => path.contains("/.") || path.starts_with('.'),
        "cookies" | "web data" | "local state" => ["chrome", "chromium", "brave", "edge", "opera", "vivaldi"]
            .iter()
            .any(|browser| path.contains(browser)),
        "sam" | "system" | "security" => path.contains("system32/config/"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::NAMES;

    #[test]
    fn names_are_sorted_because_they_are_searched_by_halves() {
        assert!(NAMES.is_sorted());
    }
}
