//! The `hooks` of a settings file, in the shape that Claude Code and Codex share.

use banksman_core::json::parse;
use serde_json::{Value, json};

use super::splice::{Place, insert, remove};

/// A command at an event.
#[derive(Debug, Clone)]
pub(crate) struct HookLine {
    pub(crate) event: &'static str,
    pub(crate) command: String,
    /// Seconds.
    pub(crate) timeout: u64,
}

/// The settings with these hooks in them, each for every tool.
pub(crate) fn with_hooks(text: &str, lines: &[HookLine]) -> Result<String, String> {
    let blank = text.trim().is_empty();
    let mut text = if blank { "{}".to_owned() } else { text.to_owned() };
    object(&text)?;
    if Place::of(&text).member("hooks").is_none() {
        text = insert(&text, &Place::of(&text), "\"hooks\": {}");
    }
    for line in lines {
        let group = json!({
            "matcher": "*",
            "hooks": [{ "type": "command", "command": line.command, "timeout": line.timeout }],
        });
        let group = serde_json::to_string_pretty(&group).map_err(|error| error.to_string())?;
        let root = Place::of(&text);
        let Some(hooks) = root.member("hooks") else { return Err("there is no `hooks`".into()) };
        text = match hooks.value.member(line.event) {
            Some(groups) => insert(&text, &groups.value, &group),
            None => {
                let item = format!("{}: [\n  {}\n]", json!(line.event), group.replace('\n', "\n  "));
                insert(&text, &hooks.value, &item)
            }
        };
    }
    if blank {
        text.push('\n');
    }
    // Nothing is written that could not be read.
    object(&text)?;
    Ok(text)
}

/// The settings without the hooks whose command is ours, and without what is empty after that.
pub(crate) fn without_hooks(text: &str, is_ours: impl Fn(&str) -> bool) -> Result<String, String> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let mut text = text.to_owned();
    // One at a time: each removal moves what follows.
    while let Some(less) = without_one(&text, object(&text)?, &is_ours) {
        text = less;
    }
    object(&text)?;
    Ok(text)
}

fn without_one(text: &str, settings: Value, is_ours: &impl Fn(&str) -> bool) -> Option<String> {
    let root = Place::of(text);
    let hooks_at = root.children.iter().position(|child| child.name == "hooks")?;
    let hooks = root.children.get(hooks_at)?;
    for (event_at, event) in hooks.value.children.iter().enumerate() {
        for (group_at, group) in event.value.children.iter().enumerate() {
            let Some(handlers) = group.value.member("hooks") else { continue };
            let command = |at: usize| {
                let groups = settings.get("hooks")?.get(&event.name)?;
                groups.get(group_at)?.get("hooks")?.get(at)?.get("command")?.as_str()
            };
            let ours = |at: &usize| command(*at).is_some_and(is_ours);
            let Some(at) = (0..handlers.value.children.len()).find(ours) else { continue };
            return Some(
                match (handlers.value.children.len(), event.value.children.len(), hooks.value.children.len())
                {
                    (1, 1, 1) => remove(text, &root, hooks_at),
                    (1, 1, _) => remove(text, &hooks.value, event_at),
                    (1, _, _) => remove(text, &event.value, group_at),
                    (_, _, _) => remove(text, &handlers.value, at),
                },
            );
        }
    }
    None
}

/// The settings, if they are an object whose hooks are what hosts expect.
fn object(text: &str) -> Result<Value, String> {
    // Strictly first: of two members of one name, a host may read the other.
    parse(text.as_bytes()).map_err(|error| error.to_string())?;
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let members = value.as_object().ok_or("it is not an object")?;
    match members.get("hooks") {
        None => {}
        Some(Value::Object(events)) => {
            if let Some((name, _)) = events.iter().find(|(_, groups)| !groups.is_array()) {
                return Err(format!("its hooks.{name} is not a list"));
            }
        }
        Some(_) => return Err("its hooks are not an object".into()),
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<HookLine> {
        ["PreToolUse", "PostToolUse"]
            .map(|event| HookLine { event, command: "'/x/banksman' hook \"c\"".into(), timeout: 600 })
            .to_vec()
    }

    fn ours(command: &str) -> bool {
        command.contains("banksman")
    }

    const TEXTS: &[&str] = &[
        "{\n  \"model\": \"opus\"\n}\n",
        "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n        \"matcher\": \"Bash\",\n        \"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]\n      }\n    ]\n  },\n  \"z\": 1\n}\n",
        "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"say\"}]}]},\"n\":1e300}",
    ];

    #[test]
    fn hooks_go_in_and_come_out_and_every_other_byte_stays() {
        for text in TEXTS {
            let with = with_hooks(text, &lines()).unwrap();
            let value: Value = serde_json::from_str(&with).unwrap();
            for event in ["PreToolUse", "PostToolUse"] {
                let groups = value["hooks"][event].as_array().unwrap();
                assert_eq!(groups.last().unwrap()["hooks"][0]["timeout"], 600, "{with}");
                assert_eq!(groups.last().unwrap()["matcher"], "*");
            }
            assert_eq!(without_hooks(&with, ours).unwrap(), *text);
            assert_eq!(without_hooks(text, ours).unwrap(), *text, "nothing of ours, nothing changes");
        }
    }

    #[test]
    fn from_nothing_comes_a_file_of_its_own() {
        let with = with_hooks("", &lines()).unwrap();
        assert!(
            with.ends_with("}\n") && with.starts_with("{\n  \"hooks\": {\n    \"PreToolUse\": ["),
            "{with}"
        );
        assert_eq!(without_hooks(&with, ours).unwrap().trim(), "{}");
    }

    #[test]
    fn a_hook_of_ours_among_others_is_taken_out_alone() {
        let text = r#"{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"command":"a"},{"command":"banksman"},{"command":"b"}]}]}}"#;
        let left = without_hooks(text, ours).unwrap();
        assert_eq!(
            left,
            r#"{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"command":"a"},{"command":"b"}]}]}}"#
        );
    }

    #[test]
    fn what_is_not_understood_is_not_touched() {
        for text in [
            "[]",
            "{",
            "// comment\n{}",
            "{\"hooks\": []}",
            "{\"hooks\": {\"PreToolUse\": {}}}",
            "{\"hooks\": {}, \"hooks\": {}}",
            "null",
        ] {
            assert!(with_hooks(text, &lines()).is_err(), "{text}");
            assert!(without_hooks(text, ours).is_err(), "{text}");
        }
    }
}
