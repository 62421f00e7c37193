//! How someone likes the pages: kept in a cookie of theirs, so that pages are drawn right at once, scripts or none.

use maud::{Markup, html};

use crate::frame::{Frame, Place};
use crate::inbox::Sort;
use crate::parts::hidden;
use crate::text::Foreign;

/// Light or dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "each is what it says")]
pub enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

impl Theme {
    const ALL: [Self; 3] = [Self::System, Self::Light, Self::Dark];

    fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// How someone likes the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Preferences {
    /// Light or dark.
    pub theme: Theme,
    /// In which order the inbox comes if nothing else is asked for.
    pub sort: Sort,
    /// Whether the guide for newcomers was put away.
    pub guide_done: bool,
}

impl Preferences {
    /// As the cookie has it.
    #[must_use]
    pub fn to_text(self) -> String {
        let guide = if self.guide_done { "done" } else { "open" };
        format!("{}.{}.{guide}", self.theme.as_str(), self.sort.as_str())
    }

    /// What a cookie says. Anyone can write one: whatever is not known is as usual.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let mut parts = text.split('.');
        let theme = parts.next().unwrap_or_default();
        Self {
            theme: Theme::ALL.into_iter().find(|known| known.as_str() == theme).unwrap_or_default(),
            sort: Sort::from_text(parts.next().unwrap_or_default()),
            guide_done: parts.next() == Some("done"),
        }
    }

    /// What the page says to the style sheet; nothing, if the system decides.
    pub(crate) fn theme_name(self) -> Option<&'static str> {
        (self.theme != Theme::System).then(|| self.theme.as_str())
    }
}

/// The page of settings.
#[must_use]
pub fn settings(frame: &Frame<'_>) -> String {
    let likes = frame.preferences;
    let body = html! {
        h1 { "Settings" }
        p.lead { "You are " b { (Foreign(frame.viewer.name)) } ". These are about this browser only." }
        section.panel {
            h2 { "How pages look" }
            form.stack method="post" action="/settings" {
                (hidden("csrf", frame.viewer.csrf))
                (hidden("guide", if likes.guide_done { "done" } else { "open" }))
                fieldset {
                    legend { "Colours" }
                    div.choices {
                        @for (theme, words) in [(Theme::System, "As the system says"), (Theme::Light, "Light"), (Theme::Dark, "Dark")] {
                            label.check { input type="radio" name="theme" value=(theme.as_str()) checked[theme == likes.theme]; (words) }
                        }
                    }
                }
                label.field { span { "Order of the inbox" }
                    select name="sort" {
                        @for (sort, words) in Sort::WORDS { option value=(sort.as_str()) selected[*sort == likes.sort] { (words) } }
                    }
                }
                button.strong { "Save" }
            }
        }
        section.panel {
            h2 { "News" }
            p { "The number of waiting actions is always in the title of the page." }
            p { "Who is reached on which channel, and when not, is in the server's channels.yaml. A change there counts from the next start of the server." }
            p.unscripted.quiet { "Notifications and single keys need scripts, which are off." }
            div.scripted-block {
                p { "A notification tells how many actions wait, while you look at something else. It never shows what an agent wrote." }
                p { button type="button" data-notify { "Turn notifications on" } " " span data-notify-state role="status" {} }
                label.check { input type="checkbox" data-keys-off; " Turn single keys off" }
            }
        }
        (guide_again(frame))
    };
    frame.page(Place::Settings, "Settings", &body)
}

fn guide_again(frame: &Frame<'_>) -> Markup {
    html! {
        section.panel {
            h2 { "New here?" }
            p { "The " a href="/guide" { "guide" } " has the first steps, and a sample to try deciding on." }
            @if !frame.preferences.guide_done {
                form method="post" action="/guide/dismiss" { (hidden("csrf", frame.viewer.csrf)) button.plain { "Do not show it in the inbox" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likes_come_back_and_nonsense_is_as_usual() {
        for theme in Theme::ALL {
            for sort in [Sort::Urgency, Sort::Deadline, Sort::Risk] {
                for guide_done in [true, false] {
                    let likes = Preferences { theme, sort, guide_done };
                    assert_eq!(Preferences::from_text(&likes.to_text()), likes);
                }
            }
        }
        for text in ["", ".", "....", "dark\";", "<script>.x.y", "DARK.RISK.DONE"] {
            assert_eq!(Preferences::from_text(text), Preferences::default(), "{text}");
        }
    }
}
