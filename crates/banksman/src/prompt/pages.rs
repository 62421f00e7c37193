//! The box, page by page: a yes counts only for what has been on the screen.

use super::card::{Card, Size};
use crate::display::Screen;

/// Rows that the box does not get: the question.
const OTHER_ROWS: usize = 1;
/// However low the terminal, so much at a time.
const FEWEST: usize = 3;

/// The whole box, what is beside it, and how far they have been shown.
pub(super) struct Pages {
    lines: Vec<String>,
    details: Vec<String>,
    rows: usize,
    /// Whether it is the details that come next, and from which line on.
    in_details: bool,
    next: usize,
    seen: bool,
}

impl Pages {
    /// What to show first, which is all of it if that fits.
    pub(super) fn of(card: &Card, screen: Screen, rows: usize) -> (String, Self) {
        let rows = rows.saturating_sub(OTHER_ROWS).max(FEWEST);
        let lines = card.draw(screen, Size::Whole);
        let lines = if lines.len() > rows { card.draw(screen, Size::Dense) } else { lines };
        // What scrolls away before anyone could read it has not been seen, even if nothing was left out.
        let seen = lines.len() <= rows;
        let first = if seen { text(&lines) } else { text(&card.draw(screen, Size::Short)) };
        let details = card.details(screen);
        (first, Self { lines, details, rows, in_details: seen, next: 0, seen })
    }

    /// Whether all of it has been on the screen.
    pub(super) fn were_seen(&self) -> bool {
        self.seen
    }

    /// The next page; after the box come the details, and then the box again.
    pub(super) fn turn(&mut self) -> String {
        let lines = if self.in_details { &self.details } else { &self.lines };
        let end = self.next.saturating_add(self.rows).min(lines.len());
        let page = text(lines.get(self.next..end).unwrap_or_default());
        if end == lines.len() {
            self.seen = true;
            self.in_details = !self.in_details;
            self.next = 0;
        } else {
            self.next = end;
        }
        page
    }
}

/// Lines for a terminal in raw mode.
fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\r\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    const SCREEN: Screen = Screen { terminal_columns: Some(80), colours: false };

    #[test]
    fn what_fits_is_seen_at_once_and_the_rest_can_be_asked_for() {
        let mut action = sample::action();
        action.context.evidence = Some(sample::json(r#"{"ticket":"T-1"}"#));
        action.context.state_before = Some(sample::json(r#"{"balance":7}"#));
        let card = Card::of_view(&action);
        let (first, mut pages) = Pages::of(&card, SCREEN, 50);
        assert!(pages.were_seen() && !first.contains("T-1"), "{first}");
        let details = pages.turn();
        for expected in ["\"ticket\": \"T-1\"", "\"balance\": 7", &action.digest.to_string()] {
            assert!(details.contains(expected), "{expected} in {details}");
        }
        assert_eq!(pages.turn(), first);
        assert!(pages.were_seen());
    }

    #[test]
    fn what_does_not_fit_is_seen_when_its_last_page_was() {
        let mut action = sample::action();
        let many: Vec<u32> = (0..100).collect();
        action.args = sample::json(&serde_json::json!({ "many": many }).to_string());
        let card = Card::of_view(&action);
        let whole = text(&card.draw(SCREEN, Size::Dense));
        for rows in [0, 5, 24, 60, 90] {
            let (_, mut pages) = Pages::of(&card, SCREEN, rows);
            let mut shown = String::new();
            while !pages.were_seen() {
                let page = pages.turn();
                assert!(page.lines().count() <= rows.max(FEWEST + OTHER_ROWS) - OTHER_ROWS, "{page}");
                shown.push_str(&page);
            }
            assert_eq!(shown, whole, "{rows} rows");
        }
    }

    #[test]
    fn what_fits_without_blank_lines_need_not_be_paged() {
        let card = Card::of_view(&sample::action());
        let rows = card.draw(SCREEN, Size::Dense).len() + OTHER_ROWS;
        assert!(card.draw(SCREEN, Size::Whole).len() + OTHER_ROWS > rows);
        assert!(Pages::of(&card, SCREEN, rows).1.were_seen());
        assert!(!Pages::of(&card, SCREEN, rows - 1).1.were_seen());
    }

    #[test]
    fn words_of_the_agent_push_nothing_out_of_sight() {
        // Nothing is left out of the short box, but its beginning has scrolled away.
        let mut action = sample::action();
        action.context.description = Some("word ".repeat(1_000));
        let (_, pages) = Pages::of(&Card::of_view(&action), SCREEN, 24);
        assert!(!pages.were_seen());
    }
}
