//! automaton's table of default time limits, in its design document.

use super::draft::{Draft, comment, scalar};

/// A row: what it is about, and for how long a request lives.
pub(super) struct Row {
    scenario: String,
    ttl: String,
}

/// The rows of the Markdown table with a column `Default TTL`, if there is one.
pub(super) fn table(text: &str) -> Option<Vec<Row>> {
    let mut lines = text.lines().map(cells);
    let column = lines.by_ref().find_map(|cells| {
        cells.iter().position(|cell| cell.eq_ignore_ascii_case("default ttl")).filter(|at| *at > 0)
    })?;
    let rows = lines
        .take_while(|cells| cells.len() > column)
        .filter(|cells| !cells.iter().all(|cell| cell.chars().all(|c| matches!(c, '-' | ':'))))
        .filter_map(|cells| Some(Row { scenario: cells.first()?.clone(), ttl: cells.get(column)?.clone() }));
    Some(rows.collect())
}

fn cells(line: &str) -> Vec<String> {
    let Some(inner) = line.trim().strip_prefix('|') else { return Vec::new() };
    inner.trim_end_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

pub(super) fn read(rows: &[Row]) -> Draft {
    let mut draft = Draft::default();
    draft.line("ttl_classes", "# use one in a rule: ttl: financial_transfers");
    for row in rows {
        match span(&row.ttl) {
            Some(span) => draft.line(
                "ttl_classes",
                format!("{}: {span}  # {}", scalar(&slug(&row.scenario)), comment(&row.scenario)),
            ),
            None => draft.warn(format!("{:?} is no time span: {} was left out", row.ttl, row.scenario)),
        }
        // automaton's dangerous is high here, and forbidden critical.
        if let (Some(span), true) = (span(&row.ttl), row.scenario.to_ascii_lowercase().contains("dangerous"))
        {
            draft.line("risks", format!("high: {{timeout: {span}}}  # automaton's \"dangerous\""));
            draft.line("risks", format!("critical: {{timeout: {span}}}"));
        }
    }
    draft.warn(
        "the classes apply where a rule names them with `ttl`: which tools those are, the table does not say",
    );
    draft
}

fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("_")
}

/// `1 hour`, `30 minutes` as this language writes them.
fn span(text: &str) -> Option<String> {
    let (number, unit) = text.trim().split_once(' ')?;
    let number: u64 = number.parse().ok().filter(|number| *number > 0)?;
    let unit = match unit.trim_end_matches('s') {
        "second" => 's',
        "minute" => 'm',
        "hour" => 'h',
        "day" => 'd',
        _ => return None,
    };
    Some(format!("{number}{unit}"))
}
