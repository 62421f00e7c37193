//! Here-documents: announced in one line, given in the next ones.

use std::cell::OnceCell;
use std::rc::Rc;

use super::parser::{Parser, Place};
use super::{Part, Word};

/// A here-document whose body is still to come.
pub(super) struct Pending {
    end: String,
    strips_tabs: bool,
    expands: bool,
    body: Rc<OnceCell<Word>>,
}

impl Parser<'_> {
    /// Reads the word that ends a here-document; the body is filled in at the end of the line.
    pub(super) fn document(&mut self, strips_tabs: bool) -> Rc<OnceCell<Word>> {
        let start = self.at;
        let word = self.word();
        if self.at == start {
            self.trouble();
        }
        let mut end = String::new();
        let mut expands = true;
        // The word is not expanded: `<<$(x)` ends at a line that reads `$(x)`.
        for part in &word.parts {
            match part {
                Part::Literal(text) => end.push_str(text),
                Part::Quoted(text, _) => {
                    expands = false;
                    end.push_str(text);
                }
                Part::Double(parts) => {
                    expands = false;
                    for part in parts {
                        if let Part::Quoted(text, _) = part {
                            end.push_str(text);
                        }
                    }
                }
                Part::Parameter(_)
                | Part::Substitution(_)
                | Part::Process(_)
                | Part::Arithmetic(_)
                | Part::Array(_) => {
                    end = self.slice(start, self.at).to_owned();
                    break;
                }
            }
        }
        let body = Rc::new(OnceCell::new());
        self.pending.push(Pending { end, strips_tabs, expands, body: Rc::clone(&body) });
        body
    }

    /// Reads the bodies that were announced in the line that just ended.
    pub(super) fn read_documents(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            let word = self.body(&pending);
            // Set once: each here-document is announced once.
            let _ = pending.body.set(word);
        }
    }

    fn body(&mut self, pending: &Pending) -> Word {
        let start = self.at;
        let mut end = self.text.len();
        let mut stripped = String::new();
        let mut closed = false;
        while self.at < self.text.len() {
            let rest = self.rest();
            let length = rest.find('\n').map_or(rest.len(), |at| at + 1);
            let line = rest.get(..length).unwrap_or_default();
            let content = if pending.strips_tabs { line.trim_start_matches('\t') } else { line };
            if content.trim_end_matches(['\n', '\r']) == pending.end {
                end = self.at;
                // The line end stays, so that the next line starts as any other.
                self.at += line.trim_end_matches('\n').len();
                closed = true;
                break;
            }
            if pending.strips_tabs {
                stripped.push_str(content);
            }
            self.at += length;
        }
        if !closed {
            self.trouble();
        }
        let range = self.range(start, end);
        let text = self.slice(start, end);
        let (text, place) = if pending.strips_tabs {
            (stripped.as_str(), Place::Derived(range.clone()))
        } else {
            (text, self.place_of(start, end))
        };
        let parts = if pending.expands {
            let mut inner = Parser::new(text, place, self.depth);
            let parts = inner.deeper(|inner| inner.double_parts(None));
            self.absorb(&inner);
            parts
        } else {
            let verbatim = match place {
                Place::Verbatim(at) => Some(at),
                Place::Derived(_) => None,
            };
            vec![Part::Quoted(text.to_owned(), verbatim)]
        };
        Word { parts, range }
    }

    fn place_of(&self, start: usize, end: usize) -> Place {
        match &self.place {
            Place::Verbatim(base) => Place::Verbatim(base + start),
            Place::Derived(_) => Place::Derived(self.range(start, end)),
        }
    }

    /// Takes over what a parser of an inner text found wrong.
    pub(super) fn absorb(&mut self, inner: &Parser<'_>) {
        self.too_deep |= inner.too_deep;
        if inner.broken.is_some() {
            self.trouble();
        }
    }
}
