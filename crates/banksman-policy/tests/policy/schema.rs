//! The schema says what the reader says, and the checked-in copy is it.

use banksman_policy::{Document, Policy};
use serde_json::Value;

/// Tests run in the folder of their package.
const ROOT: &str = "../..";

/// Renewed with `BANKSMAN_UPDATE=1`.
#[test]
fn the_checked_in_schemas_are_those_of_the_types() {
    for document in Document::ALL {
        let path = format!("{ROOT}/docs/schema/{}", document.schema_file());
        let text = serde_json::to_string_pretty(&document.schema()).unwrap() + "\n";
        if std::env::var_os("BANKSMAN_UPDATE").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert!(
            std::fs::read_to_string(&path).unwrap_or_default() == text,
            "{path} is old: BANKSMAN_UPDATE=1"
        );
    }
}

fn validator(document: Document) -> jsonschema::Validator {
    jsonschema::draft202012::new(&document.schema()).unwrap()
}

/// Every YAML document that is shown or shipped.
fn documents() -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for page in ["policy.md", "people.md"] {
        let examples = crate::docs::examples(page).into_iter();
        found.extend(examples.map(|(line, text)| (format!("docs/{page}:{line}"), text)));
    }
    for folder in ["examples", "crates/banksman-policy/src", "crates/banksman-policy/templates"] {
        for entry in std::fs::read_dir(format!("{ROOT}/{folder}")).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                found.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}

#[test]
fn every_document_that_is_shown_is_valid() {
    let (policies, cases) = (validator(Document::Policy), validator(Document::Cases));
    let documents = documents();
    assert!(documents.len() >= 9, "the documents were not found");
    for (name, text) in documents {
        let value: Value = serde_saphyr::from_str(&text).unwrap();
        let schema = if value.get("cases").is_some() { &cases } else { &policies };
        let errors: Vec<String> =
            schema.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
}

#[test]
fn what_the_reader_refuses_the_schema_refuses() {
    let schema = validator(Document::Policy);
    for text in [
        "rules: []",
        "version: 1\nruls: []",
        "version: one",
        "version: 1\npreset: sometimes",
        "version: 1\nrisks: {enormous: {tier: block}}",
        "version: 1\nseverities: {S9: {tier: block}}",
        "version: 1\ncosts: {limits_usd: {garage: 5}}",
        "version: 1\ntools: {x: {tier: maybe}}",
        "version: 1\ntools: {x: {teir: auto}}",
        "version: 1\ntools: {x: {timeout: soon}}",
        "version: 1\nrules: [{tier: auto}]",
        "version: 1\nrules: [{id: a, match: {toool: x}}]",
        "version: 1\nrules: [{id: a, match: {tool: []}}]",
        "version: 1\nrules: [{id: a, match: {tool: ''}}]",
        "version: 1\nrules: [{id: a, match: {kind: prose}}]",
        "version: 1\nrules: [{id: a, match: {risk: '>= enormous'}}]",
        "version: 1\nrules: [{id: a, match: {risk: []}}]",
        "version: 1\nrules: [{id: a, match: {args: {x: {gtt: 5}}}}]",
        "version: 1\nrules: [{id: a, match: {args: {x: {in: []}}}}]",
        "version: 1\nrules: [{id: a, match: {args: {x: {}}}}]",
        "version: 1\nrules: [{id: a, quorum: 0}]",
        "version: 1\nrules: [{id: a, quorum: 17}]",
        "version: 1\nrules: [{id: 'a b'}]",
        "version: 2",
        "version: 1\nrisk: {rules: [{id: a.b, level: high}]}",
    ] {
        assert!(Policy::parse("p.yaml", text).is_err(), "{text}");
        let value: Value = serde_saphyr::from_str(text).unwrap();
        assert!(!schema.is_valid(&value), "{text}");
    }
    for text in [
        "version: 1",
        "version: 1\nrules: [{id: a, match: {risk: '>= low', args: {x: null, y: 1.5, z: {equals: 'x'}}}}]",
    ] {
        assert!(Policy::parse("p.yaml", text).is_ok(), "{text}");
        let value: Value = serde_saphyr::from_str(text).unwrap();
        assert!(schema.is_valid(&value), "{text}");
    }
}
