//! `banksman modify`: let it run with other arguments.

use std::io::Read as _;
use std::process::ExitCode;

use anyhow::Context as _;
use banksman_core::Decision;
use banksman_core::json::{CanonicalJson, Json, Object};

use crate::context::Context;
use crate::display::Visible;
use crate::editor;
use crate::exit::{Exit, stop};
use crate::pretty::pretty;
use crate::review::{Confirmation, Review};
use crate::sheet::Sheet;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The action: its id, or at least 4 characters that it begins or ends with
    id: String,
    /// The new arguments: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-", conflicts_with = "set")]
    args: Option<String>,
    /// Change one argument; a text needs its quotes: --set 'to="ann"'. May be repeated
    #[arg(long, value_name = "KEY=JSON", value_parser = parse_assignment)]
    set: Vec<Assignment>,
    /// Why, for the audit log
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Words for the agent
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Do not ask; needed where no terminal is there to ask at
    #[arg(long, short)]
    yes: bool,
}

/// `KEY=JSON`
#[derive(Debug, Clone, PartialEq, Eq)]
struct Assignment {
    key: String,
    value: Json,
}

fn parse_assignment(text: &str) -> Result<Assignment, String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=JSON")?;
    let value = banksman_core::json::parse(value.as_bytes()).map_err(|error| {
        format!("the value is not JSON ({error}); a text needs its quotes: '{key}=\"text\"'")
    })?;
    Ok(Assignment { key: key.to_owned(), value })
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let review = Review::open(context, &args.id)?;
    let old = &review.action.args;
    review.show("To be changed and approved")?;
    let mut request = review.request(Decision::Modify)?;
    let new = match &args.args {
        Some(given) => read_args(&read_source(given)?)?,
        None if !args.set.is_empty() => assigned(old, &args.set)?,
        None if context.can_ask() => edited(old, context)?,
        None => return Err(stop(Exit::Usage, "say what to change: --args JSON or --set KEY=JSON")),
    };
    if new == *old {
        return Err(stop(Exit::Usage, "the arguments are the same; to let them run, use `banksman approve`"));
    }
    let mut sheet = Sheet::new(context.screen);
    sheet.section("What changes");
    sheet.changes(old, &new);
    context.remark(&format!("{}\n", sheet.into_text()))?;
    request.args = Some(new);
    request.reason.clone_from(&args.reason);
    request.message.clone_from(&args.message);
    let confirmation = if args.yes { Confirmation::Given } else { Confirmation::Ask };
    review.finish(request, confirmation, "Let it run like this?")
}

fn read_source(given: &str) -> anyhow::Result<String> {
    match given.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path).with_context(|| format!("cannot read {path}")),
        None if given == "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
            Ok(text)
        }
        None => Ok(given.to_owned()),
    }
}

fn read_args(text: &str) -> anyhow::Result<CanonicalJson> {
    let value = banksman_core::json::parse(text.trim().as_bytes())
        .map_err(|error| stop(Exit::Usage, format!("the arguments are not JSON: {error}")))?;
    match value {
        Json::Object(_) => Ok(CanonicalJson::of(&value)),
        other => {
            Err(stop(Exit::Usage, format!("the arguments have to be an object, not {}", other.kind_name())))
        }
    }
}

fn assigned(old: &CanonicalJson, assignments: &[Assignment]) -> anyhow::Result<CanonicalJson> {
    let mut members: Vec<(String, Json)> = members(old)?.into_members().collect();
    for Assignment { key, value } in assignments {
        match members.iter_mut().find(|(name, _)| name == key) {
            Some((_, slot)) => *slot = value.clone(),
            None => members.push((key.clone(), value.clone())),
        }
    }
    let object =
        Object::from_members(members).map_err(|key| stop(Exit::Usage, format!("{key} is set twice")))?;
    Ok(CanonicalJson::of(&Json::Object(object)))
}

fn edited(old: &CanonicalJson, context: &Context) -> anyhow::Result<CanonicalJson> {
    let mut text = pretty(old);
    loop {
        text = editor::edit(&text)?;
        match read_args(&text) {
            Ok(args) => return Ok(args),
            Err(error) => {
                // The work in the editor is not thrown away because of a comma.
                context.remark(&format!("{}\n", Visible(&error.to_string())))?;
                if !context.confirm("Edit again?")? {
                    return Err(stop(Exit::Failure, "nothing was sent"));
                }
            }
        }
    }
}

fn members(args: &CanonicalJson) -> anyhow::Result<Object> {
    match args.to_json()? {
        Json::Object(members) => Ok(members),
        other => {
            Err(stop(Exit::Failure, format!("the arguments are {} instead of an object", other.kind_name())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::json;

    fn set(old: &str, assignments: &[&str]) -> String {
        let assignments: Vec<Assignment> =
            assignments.iter().map(|text| parse_assignment(text).unwrap()).collect();
        assigned(&json(old), &assignments).unwrap().as_str().to_owned()
    }

    #[test]
    fn single_arguments_are_set_exactly() {
        assert_eq!(
            set(r#"{"a":1,"b":2}"#, &["a=9007199254740993", "c=\"x=y\""]),
            r#"{"a":9007199254740993,"b":2,"c":"x=y"}"#
        );
        assert_eq!(set("{}", &["a=1", "a=2"]), r#"{"a":2}"#);
        assert_eq!(set(r#"{"a.b":1}"#, &["a.b={\"c\":null}"]), r#"{"a.b":{"c":null}}"#);
    }

    #[test]
    fn a_text_without_quotes_is_explained() {
        let error = parse_assignment("to=ann").unwrap_err();
        assert!(error.contains("'to=\"text\"'"), "{error}");
        assert!(parse_assignment("to").is_err());
    }

    #[test]
    fn arguments_are_one_strict_object() {
        assert_eq!(read_args(" {\"b\":1, \"a\":2}\n").unwrap().as_str(), r#"{"a":2,"b":1}"#);
        for wrong in ["", "[]", "7", "{\"a\":1,\"a\":2}", "{} {}", "{'a':1}"] {
            assert!(read_args(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn arguments_come_from_the_line_or_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("args.json");
        std::fs::write(&path, "{}").unwrap();
        assert_eq!(read_source(&format!("@{}", path.display())).unwrap(), "{}");
        assert_eq!(read_source("{}").unwrap(), "{}");
        assert!(read_source("@/no/such/file").is_err());
    }
}
