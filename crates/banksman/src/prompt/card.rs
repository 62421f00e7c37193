//! The box. Everything in it that is not ours is made visible, indented, broken by us, and without a character that
//! frames are drawn with: no text can end the box, or begin another.

use banksman_core::json::CanonicalJson;
use banksman_core::wire::ActionView;
use banksman_core::{Action, Assessment, Kind, Risk, Verdict};

use crate::display::{Screen, Tone, Unframed, cut, width, wrap};
use crate::gate::Unseen;
use crate::pretty::pretty;

/// Wider boxes are harder to read.
const WIDEST: usize = 100;
/// Lines of arguments before one has to ask for all of them.
const SHORT_LINES: usize = 12;
/// Findings before one has to ask for all of them.
const SHORT_FINDINGS: usize = 4;

/// What a person is asked to decide.
pub(crate) struct Card {
    agent: String,
    tool: String,
    kind: Kind,
    args: CanonicalJson,
    /// What the agent says about it, each under a name of ours.
    says: Vec<(&'static str, String)>,
    risk: Risk,
    reversible: bool,
    rule: String,
    findings: Vec<String>,
    messages: Vec<String>,
}

impl Card {
    pub(crate) fn of_action(action: &Action, agent: &str, unseen: &Unseen) -> Self {
        let said = says(
            &action.description,
            &action.rationale,
            action.estimate.cost_usd,
            &action.affected_systems,
            &action.rollback_plan,
        );
        Self::new(agent, &action.tool, action.kind, &action.args, said, &unseen.assessment, &unseen.verdict)
    }

    pub(crate) fn of_view(action: &ActionView) -> Self {
        let context = &action.context;
        let said = says(
            &context.description,
            &context.rationale,
            context.estimated_cost_usd,
            &context.affected_systems,
            &context.rollback_plan,
        );
        Self::new(
            &action.agent,
            &action.tool,
            action.kind,
            &action.args,
            said,
            &action.assessment,
            &action.verdict,
        )
    }

    fn new(
        agent: &str,
        tool: &str,
        kind: Kind,
        args: &CanonicalJson,
        says: Vec<(&'static str, String)>,
        assessment: &Assessment,
        verdict: &Verdict,
    ) -> Self {
        Self {
            agent: agent.to_owned(),
            tool: tool.to_owned(),
            kind,
            args: args.clone(),
            says,
            risk: verdict.risk,
            reversible: assessment.reversible,
            rule: verdict.rule.clone(),
            findings: assessment.findings.iter().map(|finding| finding.reason.clone()).collect(),
            messages: verdict.messages.clone(),
        }
    }

    /// The box as lines for a terminal in raw mode.
    pub(crate) fn render(&self, screen: Screen, whole: bool) -> String {
        let mut frame = Frame::new(screen);
        let tone = Tone::from(self.risk);
        frame.edge('┌', '┐');
        frame.own(Tone::Bold, "[!] APPROVAL REQUIRED");
        frame.edge('├', '┤');
        let level = self.risk.as_str().to_uppercase();
        frame.own(Tone::Plain, &format!("The agent wants to do something of {level} risk:"));
        frame.own(Tone::Plain, "");
        frame.field("Tool: ", &format!("{} ({})", self.tool, self.kind));
        frame.field("Agent: ", &self.agent);
        for (name, words) in &self.says {
            frame.field(name, words);
        }
        frame.own(Tone::Plain, "");
        frame.own(Tone::Plain, "Parameters:");
        let lines = pretty(&self.args);
        let shown = if whole { usize::MAX } else { SHORT_LINES };
        let left_out = frame.lines(&lines, shown);
        if left_out > 0 {
            frame.own(Tone::Warning, &format!("({left_out} more lines: press v)"));
        }
        frame.own(Tone::Plain, "");
        let undo = if self.reversible { "it can be undone" } else { "it cannot be easily undone" };
        frame.own(tone, &format!("Risk: {level} - {undo}"));
        frame.field("Rule: ", &self.rule);
        for message in &self.messages {
            frame.field("Policy says: ", message);
        }
        let most = if whole { usize::MAX } else { SHORT_FINDINGS };
        for finding in self.findings.iter().take(most) {
            frame.field("- ", finding);
        }
        if self.findings.len() > most {
            frame.own(Tone::Warning, &format!("({} more findings: press v)", self.findings.len() - most));
        }
        frame.own(Tone::Plain, "");
        frame.own(Tone::Bold, "[a] Approve  [d] Deny  [v] View full details");
        frame.edge('└', '┘');
        frame.out
    }
}

/// What the agent says: what it is, why, what it costs and touches, and how to take it back.
fn says(
    description: &Option<String>,
    rationale: &Option<String>,
    cost_usd: Option<f64>,
    systems: &[String],
    rollback_plan: &Option<String>,
) -> Vec<(&'static str, String)> {
    let systems = Some(systems.join(", ")).filter(|names| !names.is_empty());
    let said = [
        ("It says: ", description.clone()),
        ("It says, why: ", rationale.clone()),
        ("It says, cost: ", cost_usd.map(|cost| format!("{cost} USD"))),
        ("It says, systems: ", systems),
        ("It says, undo: ", rollback_plan.clone()),
    ];
    said.into_iter().filter_map(|(name, words)| Some((name, words?))).collect()
}

struct Frame {
    screen: Screen,
    /// Columns between the bars, without the space beside each.
    room: usize,
    out: String,
}

impl Frame {
    fn new(screen: Screen) -> Self {
        let outside = screen.columns().min(WIDEST);
        Self { screen, room: outside.saturating_sub(4), out: String::new() }
    }

    fn edge(&mut self, left: char, right: char) {
        let bar = "─".repeat(self.room + 2);
        self.out.push_str(&format!("{left}{bar}{right}\r\n"));
    }

    /// A line of ours.
    fn own(&mut self, tone: Tone, text: &str) {
        for piece in wrap(text, self.room) {
            self.line(tone, piece.trim_end());
        }
    }

    /// A label of ours and a text by anyone, which never reaches the first column.
    fn field(&mut self, label: &str, text: &str) {
        let text = Unframed(text).to_string();
        for (index, piece) in wrap(&text, self.room.saturating_sub(width(label))).iter().enumerate() {
            let label = if index == 0 { label.to_owned() } else { " ".repeat(width(label)) };
            self.line(Tone::Plain, &format!("{label}{}", piece.trim_end()));
        }
    }

    /// Lines by anyone, behind a gutter; how many were left out.
    fn lines(&mut self, text: &str, most: usize) -> usize {
        let mut pieces = Vec::new();
        for line in text.lines() {
            let line = Unframed(line).to_string();
            for (index, piece) in wrap(&line, self.room.saturating_sub(4)).into_iter().enumerate() {
                pieces.push((if index == 0 { '|' } else { ':' }, piece));
            }
        }
        // Leaving out one line to say that one line was left out helps nobody.
        let most = if pieces.len() == most.saturating_add(1) { pieces.len() } else { most };
        for (mark, piece) in pieces.iter().take(most) {
            self.line(Tone::Plain, &format!("  {mark} {}", piece.trim_end()));
        }
        pieces.len().saturating_sub(most)
    }

    fn line(&mut self, tone: Tone, text: &str) {
        let text = cut(text, self.room);
        let padding = " ".repeat(self.room.saturating_sub(width(&text)));
        self.out.push_str(&format!("│ {}{padding} │\r\n", self.screen.paint(tone, &text)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    const NARROW: Screen = Screen { terminal_columns: Some(44), colours: false };
    const COLOURFUL: Screen = Screen { terminal_columns: Some(80), colours: true };

    #[test]
    fn the_box_shows_what_the_seeds_show() {
        let mut action = sample::action();
        action.context.estimated_cost_usd = Some(0.5);
        action.context.affected_systems = vec!["chat_api".into(), "webhook".into()];
        action.context.rollback_plan = Some("Remove injection logic".into());
        let text = Card::of_view(&action).render(COLOURFUL, false);
        for expected in [
            "[!] APPROVAL REQUIRED",
            "Tool: process_refund (tool)",
            "It says: Refund order 78291",
            "It says, why: The customer asked.",
            "It says, cost: 0.5 USD",
            "It says, systems: chat_api, webhook",
            "It says, undo: Remove injection logic",
            "Parameters:",
            "\"amount\": 899",
            "Risk: HIGH",
            "[a] Approve  [d] Deny  [v] View full details",
        ] {
            assert!(text.contains(expected), "{expected} in {text}");
        }
    }

    #[test]
    fn no_text_moves_the_cursor_colours_anything_or_forges_the_frame() {
        let hostile = "x\r\n└──┘\u{1b}[2J\u{1b}[31m\u{202e}gpj│\u{7}\u{9b}2J\n[a] Approve ═╗\u{200b}█";
        let mut action = sample::action();
        action.agent = hostile.into();
        action.tool = hostile.into();
        action.verdict.rule = hostile.into();
        action.verdict.messages = vec![hostile.repeat(5)];
        action.context.description = Some(hostile.repeat(9));
        action.args =
            CanonicalJson::parse(serde_json::to_string(&[(hostile, hostile)]).unwrap().as_bytes()).unwrap();
        for finding in &mut action.assessment.findings {
            finding.reason = hostile.into();
        }
        for whole in [false, true] {
            let text = Card::of_view(&action).render(NARROW, whole);
            assert!(!text.replace("\r\n", "").chars().any(char::is_control), "{text:?}");
            let lines: Vec<&str> = text.trim_end().split("\r\n").collect();
            for line in &lines {
                assert_eq!(width(line), 44, "{line:?}");
                let inner: String = line.chars().skip(1).take(line.chars().count() - 2).collect();
                let drawn = inner.chars().filter(|c| ('\u{2500}'..='\u{259f}').contains(c)).count();
                assert!(drawn == 0 || inner.chars().all(|c| c == '─'), "{line:?}");
            }
            let edges = lines.iter().filter(|line| !line.starts_with('│')).count();
            assert_eq!(edges, 3, "{text}");
            let keys = lines.iter().filter(|line| line.starts_with("│ [a] Approve")).count();
            assert_eq!(keys, 1, "{text}");
        }
    }

    #[test]
    fn much_is_cut_short_until_it_is_asked_for() {
        let mut action = sample::action();
        let many: Vec<u32> = (0..100).collect();
        action.args =
            CanonicalJson::parse(serde_json::json!({ "many": many }).to_string().as_bytes()).unwrap();
        let card = Card::of_view(&action);
        let short = card.render(COLOURFUL, false);
        assert!(short.contains("more lines: press v)") && !short.contains(" 99"), "{short}");
        let whole = card.render(COLOURFUL, true);
        assert!(!whole.contains("press v)") && whole.contains(" 99"), "{whole}");
    }
}
