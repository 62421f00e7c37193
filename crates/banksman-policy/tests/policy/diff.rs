//! What changed between two policies, and which way.

use banksman_config::Source;
use banksman_policy::{Effect, differences};

const OLD: &str = "version: 1
defaults: {timeout: 1h, unknown_tool: {tier: approve}}
tools:
  read: {risk: low, tier: auto}
  gone: {tier: block}
rules:
- {id: same, match: {tool: x, args: {n: {gt: 5}}}, tier: approve, timeout: 60s}
- {id: raised, tier: approve, roles: [a], timeout: 1h}
- {id: accepting, match: {tool: y}, accepts: [git.*]}
- {id: removed, match: {finding: git.*}, tier: approve}
- {id: reworded, tier: approve, message: look}
- {id: moved, match: {args: {n: {gt: 5}}}, tier: approve}
costs: {review_above_usd: 5}
";

const NEW: &str = "version: 1
tools:
  added: {tier: auto}
  read: {risk: low, tier: notify}
rules:
- {id: accepting, match: {tool: y}, accepts: [git.*, files.*]}
- {id: moved, match: {args: {n: {gt: 6}}}, tier: approve}
- {id: reworded, tier: approve, message: look twice}
- {id: raised, tier: escalate, roles: [a, b], timeout: 30m, allow_remember: false}
- {id: same, match: {tool: [x], args: {n: {gt: 5}}}, tier: approve, timeout: 1m}
- {id: new, match: {kind: sql}, tier: block}
defaults: {timeout: 60m, unknown_tool: {tier: block}}
costs: {review_above_usd: 50}
preset: confirm_all
";

fn found(old: &str, new: &str) -> Vec<String> {
    let differences = differences(&[Source::new("old", old)], &[Source::new("new", new)]).unwrap();
    let line = |d: &banksman_policy::Difference| {
        let field = d.field.as_deref().map(|field| format!(".{field}")).unwrap_or_default();
        format!(
            "{}{field}: {} -> {} {}",
            d.entry,
            d.old.as_deref().unwrap_or("-"),
            d.new.as_deref().unwrap_or("-"),
            d.effect.as_str()
        )
    };
    differences.iter().map(line).collect()
}

#[test]
fn changes_are_found_field_by_field() {
    assert_eq!(
        found(OLD, NEW),
        [
            "costs.review_above_usd: 5 -> 50 milder",
            "defaults.unknown_tool: {\"tier\":\"approve\"} -> {\"tier\":\"block\"} depends",
            "preset: - -> confirm_all depends",
            "rules.accepting.accepts: git.* -> [\"git.*\",\"files.*\"] milder",
            "rules.moved.match: {\"args\":{\"n\":{\"gt\":5}}} -> {\"args\":{\"n\":{\"gt\":6}}} depends",
            "rules.new: - -> {\"match\":{\"kind\":\"sql\"},\"tier\":\"block\"} stricter",
            "rules.raised.roles: a -> [\"a\",\"b\"] stricter",
            "rules.raised.tier: approve -> escalate stricter",
            "rules.raised.timeout: 3600 -> 1800 stricter",
            "rules.raised.allow_remember: - -> false stricter",
            "rules.removed: {\"match\":{\"finding\":\"git.*\"},\"tier\":\"approve\"} -> - milder",
            "rules.reworded.message: look -> look twice words",
            "tools.added: - -> {\"tier\":\"auto\"} milder",
            "tools.gone: {\"tier\":\"block\"} -> - milder",
            "tools.read.tier: auto -> notify stricter",
        ]
    );
}

#[test]
fn there_and_back_are_opposites() {
    let differences =
        |old: &str, new: &str| differences(&[Source::new("", old)], &[Source::new("", new)]).unwrap();
    let (there, back) = (differences(OLD, NEW), differences(NEW, OLD));
    assert_eq!(there.len(), back.len());
    for one in &there {
        let other = back.iter().find(|other| other.entry == one.entry && other.field == one.field).unwrap();
        assert_eq!((&one.old, &one.new), (&other.new, &other.old));
        let opposite = match one.effect {
            Effect::Stricter => Effect::Milder,
            Effect::Milder => Effect::Stricter,
            same @ (Effect::Depends | Effect::Words) => same,
        };
        assert_eq!(other.effect, opposite, "{one:?}");
    }
    assert!(differences(OLD, OLD).is_empty());
}

#[test]
fn the_same_in_two_files_is_the_same() {
    let (one, two) =
        ("version: 1\nrules:\n- {id: a, tier: block}\n", "version: 1\ntools: {x: {tier: auto}}\n");
    let both = "version: 1\ntools: {x: {tier: auto}}\nrules: [{id: a, tier: block}]\n";
    let split = [Source::new("1", one), Source::new("2", two)];
    assert!(differences(&split, &[Source::new("both", both)]).unwrap().is_empty());
}
