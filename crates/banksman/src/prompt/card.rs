//! The box. Everything in it that is not ours is made visible, indented, broken by us, and without a character that
//! frames are drawn with: no text can end the box, or begin another.

use std::sync::Arc;

use banksman_core::json::CanonicalJson;
use banksman_core::wire::{ActionView, ContextView};
use banksman_core::{Action, Assessment, Digest, Kind, Verdict, action_digest};
use banksman_review::{Claim, Said, Shown, claims, passed_on_to, undo};

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
    digest: Digest,
    args: CanonicalJson,
    /// The agent's word, and the server that Banksman passes it on to.
    context: ContextView,
    assessment: Arc<Assessment>,
    verdict: Arc<Verdict>,
    shown: Shown,
}

/// How much of the box to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// The beginning of what is long.
    Short,
    /// All of it.
    Whole,
    /// All of it, without blank lines between.
    Dense,
}

impl Card {
    pub(crate) fn of_action(action: &Action, agent: &str, unseen: &Unseen) -> Self {
        Self {
            agent: agent.to_owned(),
            tool: action.tool.clone(),
            kind: action.kind,
            digest: action_digest(&action.tool, action.kind, &action.args),
            args: action.args.clone(),
            context: ContextView::from(action),
            assessment: unseen.assessment.clone().into(),
            verdict: unseen.verdict.clone().into(),
            shown: Shown::Whole,
        }
    }

    pub(crate) fn of_view(action: &ActionView) -> Self {
        Self {
            agent: action.agent.clone(),
            tool: action.tool.clone(),
            kind: action.kind,
            digest: action.digest,
            args: action.args.clone(),
            context: action.context.clone(),
            assessment: action.assessment.clone(),
            verdict: action.verdict.clone(),
            shown: Shown::of(action),
        }
    }

    /// Whether policy wants to know why.
    pub(super) fn wants_reason(&self) -> bool {
        self.verdict.require_reason
    }

    /// The box, line by line.
    pub(super) fn draw(&self, screen: Screen, size: Size) -> Vec<String> {
        let mut frame = Frame::new(screen, size);
        let most = |short: usize| if size == Size::Short { short } else { usize::MAX };
        frame.edge('┌', '┐');
        frame.own(Tone::Bold, "[!] APPROVAL REQUIRED");
        frame.edge('├', '┤');
        let level = self.verdict.risk.as_str().to_uppercase();
        frame.own(Tone::Plain, &format!("The agent wants to do something of {level} risk:"));
        frame.blank();
        frame.field("Tool: ", &format!("{} ({})", self.tool, self.kind));
        if let Some(server) = passed_on_to(&self.context) {
            frame.field("Passed on to the server: ", server);
        }
        frame.field("Agent: ", &self.agent);
        // What is not words, such as evidence, is among the details: it is not what runs.
        for Claim { name, said } in claims(&self.context) {
            if let Said::Words(words) = said {
                frame.field(&format!("It says, {name}: "), &words);
            }
        }
        frame.blank();
        if let Some(warning) = self.shown.warning() {
            frame.own(Tone::Warning, warning);
        }
        frame.own(Tone::Plain, "Parameters:");
        frame.lines(&pretty(&self.args), most(SHORT_LINES));
        frame.blank();
        let undo = undo(&self.assessment);
        frame.own(Tone::from(self.verdict.risk), &format!("Risk: {level} - {undo}"));
        frame.field("Rule: ", &self.verdict.rule);
        for message in &self.verdict.messages {
            frame.field("Policy says: ", message);
        }
        let findings = &self.assessment.findings;
        for finding in findings.iter().take(most(SHORT_FINDINGS)) {
            frame.field("- ", &finding.reason);
        }
        frame.more(findings.len().saturating_sub(most(SHORT_FINDINGS)), "findings");
        frame.blank();
        frame.own(Tone::Bold, "[a] Approve  [d] Deny  [v] View full details");
        frame.edge('└', '┘');
        frame.out
    }
}

impl Card {
    /// What helps some to decide, and is not what runs.
    pub(super) fn details(&self, screen: Screen) -> Vec<String> {
        let mut frame = Frame::new(screen, Size::Whole);
        frame.edge('┌', '┐');
        frame.own(Tone::Bold, "FULL DETAILS");
        frame.edge('├', '┤');
        // On a line of its own, where it fits as a whole.
        frame.own(Tone::Plain, "Digest:");
        frame.own(Tone::Plain, &self.digest.to_string());
        for rule in &self.verdict.matched {
            frame.field("Matched: ", rule);
        }
        for finding in &self.assessment.findings {
            frame.field("- ", &format!("{} ({}): {}", finding.rule, finding.level, finding.reason));
        }
        for Claim { name, said } in claims(&self.context) {
            if let Said::Json(value) = said {
                frame.blank();
                frame.own(Tone::Plain, &format!("It says, {name}:"));
                frame.lines(&pretty(value), usize::MAX);
            }
        }
        frame.edge('└', '┘');
        frame.out
    }
}

struct Frame {
    screen: Screen,
    /// Columns between the bars, without the space beside each.
    room: usize,
    size: Size,
    out: Vec<String>,
}

impl Frame {
    fn new(screen: Screen, size: Size) -> Self {
        let outside = screen.columns().min(WIDEST);
        Self { screen, room: outside.saturating_sub(4), size, out: Vec::new() }
    }

    fn edge(&mut self, left: char, right: char) {
        let bar = "─".repeat(self.room + 2);
        self.out.push(format!("{left}{bar}{right}"));
    }

    /// Room between two parts, if there is any.
    fn blank(&mut self) {
        if self.size != Size::Dense {
            self.line(Tone::Plain, "");
        }
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

    /// Lines by anyone, behind a gutter, as many as are wanted.
    fn lines(&mut self, text: &str, most: usize) {
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
        self.more(pieces.len().saturating_sub(most), "lines");
    }

    /// Says what was left out, if anything was.
    fn more(&mut self, count: usize, what: &str) {
        if count > 0 {
            self.own(Tone::Warning, &format!("({count} more {what}: press v)"));
        }
    }

    fn line(&mut self, tone: Tone, text: &str) {
        let text = cut(text, self.room);
        let padding = " ".repeat(self.room.saturating_sub(width(&text)));
        self.out.push(format!("│ {}{padding} │", self.screen.paint(tone, &text)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    const NARROW: Screen = Screen { terminal_columns: Some(44), colours: false };
    const COLOURFUL: Screen = Screen { terminal_columns: Some(80), colours: true };

    fn drawn(action: &ActionView, screen: Screen, size: Size) -> String {
        Card::of_view(action).draw(screen, size).join("\r\n")
    }

    #[test]
    fn the_box_shows_what_the_seeds_show() {
        let mut action = sample::action();
        action.context.estimated_cost_usd = Some(0.5);
        action.context.affected_systems = vec!["chat_api".into(), "webhook".into()];
        action.context.rollback_plan = Some("Remove injection logic".into());
        let text = drawn(&action, COLOURFUL, Size::Short);
        for expected in [
            "[!] APPROVAL REQUIRED",
            "Tool: process_refund (tool)",
            "It says, description: Refund order 78291",
            "It says, rationale: The customer asked.",
            "It says, cost: 0.5 USD",
            "It says, affects: chat_api, webhook",
            "It says, rollback: Remove injection logic",
            "Parameters:",
            "\"amount\": 899",
            "Risk: HIGH - nothing was found that cannot be undone",
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
        let verdict = Arc::make_mut(&mut action.verdict);
        verdict.rule = hostile.into();
        verdict.messages = vec![hostile.repeat(5)];
        action.context.description = Some(hostile.repeat(9));
        action.args =
            CanonicalJson::parse(serde_json::to_string(&[(hostile, hostile)]).unwrap().as_bytes()).unwrap();
        for finding in &mut Arc::make_mut(&mut action.assessment).findings {
            finding.reason = hostile.into();
        }
        for size in [Size::Short, Size::Whole, Size::Dense] {
            let text = drawn(&action, NARROW, size);
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
        let short = drawn(&action, COLOURFUL, Size::Short);
        assert!(short.contains("more lines: press v)") && !short.contains(" 99"), "{short}");
        let whole = drawn(&action, COLOURFUL, Size::Whole);
        assert!(!whole.contains("press v)") && whole.contains(" 99"), "{whole}");
    }
}
