//! What a reader would not see for what it is.
//!
//! Whatever an agent can write is hostile when shown: an escape sequence repaints a terminal, a bidirectional override
//! reverses a file name, a zero-width character makes two names look the same. Every surface that shows such a text
//! asks here, character by character, what to spell out instead; how it is spelled is the surface's own.

mod line;
mod pretty;
mod text;

use std::fmt::{self, Write as _};

use unicode_width::UnicodeWidthChar;

pub use line::{Speller, Unframed, Visible, cut, width, wrap};
pub use pretty::{one_line, pretty};
pub use text::brief;

/// A JSON text with the same meaning, in which what hides or acts is spelled `\uXXXX`.
///
/// In a valid JSON text such characters occur only inside strings, where the escape means the same character;
/// the exception is white space, which may as well be a space.
#[derive(Debug, Clone, Copy)]
pub struct VisibleJson<'a>(pub &'a str);

impl fmt::Display for VisibleJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut eye = Eye::default();
        for c in self.0.chars() {
            match c {
                '\n' => f.write_char('\n')?,
                c if c < ' ' => f.write_char(' ')?,
                c if eye.misses(c) => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        write!(f, "\\u{unit:04x}")?;
                    }
                }
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Most marks that scripts put on one letter; more only smear over the lines around.
const MARKS_ON_A_LETTER: u8 = 3;

/// Tells, character by character, what a reader would not see for what it is.
#[derive(Debug, Default)]
pub struct Eye {
    marks_left: u8,
}

impl Eye {
    /// Whether a reader would miss the next character, or take it for something else.
    pub fn misses(&mut self, c: char) -> bool {
        if is_hidden(c) {
            self.marks_left = 0;
            return true;
        }
        if c.width() == Some(0) {
            // A mark belongs on a letter; elsewhere it changes how our own quotes and brackets look.
            let smears = self.marks_left == 0;
            self.marks_left = self.marks_left.saturating_sub(1);
            return smears;
        }
        self.marks_left = if c.is_alphanumeric() { MARKS_ON_A_LETTER } else { 0 };
        false
    }
}

/// Whether a character acts on a terminal, reorders the text, or shows nothing, or anything.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Format characters, all of them: bidirectional controls, joiners, invisible operators, tags.
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
            | '\u{8e2}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
            // Separators of lines and paragraphs.
            | '\u{2028}' | '\u{2029}'
            // Letters and marks that show nothing, and variation selectors, which can carry whole messages.
            | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{3164}' | '\u{ffa0}' | '\u{fe00}'..='\u{fe0f}'
            // Spaces that are not a space, such as one that a shell takes for part of a name. The ideographic
            // one is ordinary in Japanese and wide enough to be seen.
            | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{2800}'
            // Private use: a font may show anything there.
            | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
        // The two last code points of each plane are no characters at all.
        || u32::from(c) & 0xfffe == 0xfffe
}
