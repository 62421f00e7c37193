//! Which provider vouches for people, and what its word is worth: one strict YAML file.

use std::path::{Path, PathBuf};

use banksman_config::{ConfigError, Source};
use banksman_core::PrincipalKind;
use banksman_secrets::{Keyring, SecretPlace};
use serde::Deserialize;
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

use crate::address::believable;
use crate::claim::found;
use crate::transport::Transport;

/// What the operator wrote.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: Spanned<u32>,
    provider: Spanned<ProviderFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderFile {
    label: Spanned<String>,
    issuer: Spanned<String>,
    client_id: String,
    #[serde(default)]
    client_secret: Option<SecretPlace>,
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(default = "preferred_username")]
    name_claim: String,
    roles_claim: String,
    admit: Spanned<Vec<Admission>>,
    #[serde(default)]
    ca_file: Option<Spanned<PathBuf>>,
}

fn preferred_username() -> String {
    "preferred_username".into()
}

/// What a value of the claim is worth.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Admission {
    value: String,
    #[serde(default)]
    admin: bool,
    #[serde(default)]
    roles: Vec<String>,
}

/// A provider, and what its word is worth.
#[derive(Clone)]
pub struct Config {
    pub(crate) label: String,
    pub(crate) issuer: String,
    pub(crate) client_id: String,
    pub(crate) client_secret: Option<String>,
    pub(crate) scopes: String,
    /// Certificates of authorities that are believed besides those that browsers believe (PEM).
    pub(crate) authorities: Option<Vec<u8>>,
    name_claim: String,
    roles_claim: String,
    admit: Vec<Admission>,
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// What is in a file of certificates, if there is one in it.
fn certificates(keys: &Keyring<'_>, file: &Path) -> Result<Option<Vec<u8>>, String> {
    let pem = keys.read_file(file).map_err(|problem| format!("ca_file: {problem}"))?;
    match pem.as_deref().map(Transport::trusting) {
        Some(None) => Err(format!("ca_file: {} holds no certificate (PEM)", file.display())),
        Some(Some(_)) | None => Ok(pem),
    }
}

/// What someone may, by the word of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rights {
    pub(crate) name: String,
    pub(crate) kind: PrincipalKind,
    pub(crate) roles: Vec<String>,
}

impl Config {
    /// Reads the file.
    ///
    /// # Errors
    /// If any of it is not understood; the error says where.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        let source = Source::new(name, text);
        let file: File = source.read_as()?;
        if file.version.value != 1 {
            return Err(source.error_at(&file.version, "this program knows version 1"));
        }
        let place = file.provider.referenced;
        let written = file.provider.value;
        let issuer = &written.issuer;
        if believable(&issuer.value).is_none() {
            let problem = "an issuer is an https address (http only on this machine): anyone on the way could vouch else";
            return Err(source.error_at(issuer, problem));
        }
        if written.admit.value.is_empty() {
            return Err(source.error_at(&written.admit, "nobody would be let in: name a value of the claim"));
        }
        if written.label.value.trim().is_empty() || written.label.value.chars().any(char::is_control) {
            return Err(source.error_at(&written.label, "a label is what people know the provider by"));
        }
        let keys = Keyring::beside(name);
        let client_secret = match written.client_secret.map(|place| keys.read(&place)).transpose() {
            Ok(secret) => secret,
            Err(problem) => return Err(source.error(place, format!("client_secret: {problem}"))),
        };
        let authorities = match &written.ca_file {
            Some(file) => {
                certificates(&keys, &file.value).map_err(|problem| source.error_at(file, problem))?
            }
            None => None,
        };
        let mut scopes = vec!["openid".to_owned()];
        scopes.extend(written.scopes.into_iter().filter(|scope| scope != "openid"));
        Ok(Self {
            label: written.label.value,
            issuer: written.issuer.value.clone(),
            client_id: written.client_id,
            client_secret,
            scopes: scopes.join(" "),
            authorities,
            name_claim: written.name_claim,
            roles_claim: written.roles_claim,
            admit: written.admit.value,
        })
    }

    /// What someone with these claims may; nothing if they are not to be let in.
    pub(crate) fn rights(&self, claims: &Map<String, Value>) -> Option<Rights> {
        let name = found(claims, &self.name_claim)?.as_str()?.to_owned();
        let has = |value: &str| match found(claims, &self.roles_claim) {
            Some(Value::String(one)) => one == value,
            Some(Value::Array(many)) => many.iter().any(|one| one.as_str() == Some(value)),
            _ => false,
        };
        let matched: Vec<&Admission> = self.admit.iter().filter(|admission| has(&admission.value)).collect();
        if matched.is_empty() {
            return None;
        }
        let admin = matched.iter().any(|admission| admission.admin);
        let mut roles: Vec<String> =
            matched.iter().flat_map(|admission| admission.roles.iter().cloned()).collect();
        roles.sort();
        roles.dedup();
        let kind = if admin { PrincipalKind::Admin } else { PrincipalKind::Reviewer };
        Some(Rights { name, kind, roles })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FILE: &str = "
version: 1
provider:
  label: Example
  issuer: https://id.example
  client_id: banksman
  scopes: [profile, groups]
  roles_claim: groups
  admit:
    - {value: crane-admins, admin: true}
    - {value: finance-team, roles: [finance]}
    - {value: leads, roles: [lead, finance]}
";

    #[test]
    fn claims_become_rights_by_the_table_and_by_nothing_else() {
        let config = Config::parse("identity.yaml", FILE).unwrap();
        assert_eq!(config.scopes, "openid profile groups");
        let rights = |groups: Value| {
            let claims =
                json!({"preferred_username": "ann", "groups": groups, "admin": true, "roles": ["lead"]});
            config.rights(claims.as_object().unwrap()).map(|rights| (rights.kind, rights.roles.join(",")))
        };
        use PrincipalKind::{Admin, Reviewer};
        assert_eq!(rights(json!(["finance-team", "others"])), Some((Reviewer, "finance".into())));
        assert_eq!(rights(json!(["leads", "finance-team"])), Some((Reviewer, "finance,lead".into())));
        assert_eq!(rights(json!("crane-admins")), Some((Admin, String::new())));
        for nobody in [
            json!([]),
            json!(["Crane-Admins", "finance"]),
            json!(null),
            json!({"crane-admins": true}),
            json!(""),
        ] {
            assert_eq!(rights(nobody.clone()), None, "{nobody}");
        }
        assert_eq!(config.rights(json!({"groups": ["leads"]}).as_object().unwrap()), None, "without a name");
        assert_eq!(
            config.rights(json!({"groups": ["leads"], "preferred_username": 7}).as_object().unwrap()),
            None
        );
    }

    #[test]
    fn a_claim_may_be_inside_another() {
        let file = FILE.replace("roles_claim: groups", "roles_claim: realm_access.roles");
        let config = Config::parse("identity.yaml", &file).unwrap();
        let claims = json!({"preferred_username": "ann", "realm_access": {"roles": ["leads"]}});
        assert_eq!(config.rights(claims.as_object().unwrap()).unwrap().roles, ["finance", "lead"]);
        let elsewhere =
            json!({"preferred_username": "ann", "roles": ["leads"], "realm_access": ["roles", "leads"]});
        assert_eq!(config.rights(elsewhere.as_object().unwrap()), None);
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        for (change, by, says) in [
            ("version: 1", "version: 2", "2:10"),
            ("label: Example", "label: Example\n  tenant: x", "there is no key \"tenant\""),
            (
                "issuer: https://id.example",
                "issuer: http://id.example",
                "5:11: an issuer is an https address",
            ),
            ("issuer: https://id.example", "issuer: nonsense", "an issuer is an https address"),
            ("admin: true", "admn: true", "there is no key \"admn\""),
            (
                "client_id: banksman",
                "client_secret: {env: BANKSMAN_NO_SUCH_VARIABLE}\n  client_id: b",
                "is not set",
            ),
            ("client_id: banksman", "client_secret: plain\n  client_id: b", "identity.yaml"),
            (
                "client_id: banksman",
                "client_id: b\n  ca_file: no-such-file.pem",
                "7:12: ca_file: cannot read",
            ),
            ("client_id: banksman", "client_id: b\n  ca_file: Cargo.toml", "holds no certificate"),
        ] {
            let text = FILE.replace(change, by);
            let error = Config::parse("identity.yaml", &text).unwrap_err().to_string();
            assert!(error.contains(says), "{by}: {error}");
        }
        assert!(
            Config::parse("identity.yaml", &FILE.replace("https://id.example", "http://localhost:9000"))
                .is_ok()
        );
        let nobody = FILE.split("  admit:").next().unwrap().to_owned() + "  admit: []\n";
        assert!(
            Config::parse("identity.yaml", &nobody)
                .unwrap_err()
                .to_string()
                .contains("nobody would be let in")
        );
    }

    #[test]
    fn the_example_of_the_documents_is_understood() {
        let page = include_str!("../../../docs/identity.md");
        let example = page.split("```yaml\n").find(|part| part.contains("provider:")).unwrap();
        let example = example.split("```").next().unwrap();
        // Its secret is in a variable that tests do not have.
        let without: Vec<&str> = example.lines().filter(|line| !line.contains("client_secret")).collect();
        assert!(without.len() < example.lines().count());
        Config::parse("docs/identity.md", &without.join("\n")).unwrap();
    }
}
