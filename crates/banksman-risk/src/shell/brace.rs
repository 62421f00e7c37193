//! Brace expansion: `{a,b}` and `{1..3}` make several words of one.

use super::syntax::Part;
use super::value::HOLE;

/// Words that one word may become.
const MOST: usize = 64;

/// Pieces that a word with braces may have.
const TOKENS: usize = 512;

/// A stretch of a word, small enough to be put together anew.
#[derive(Debug, Clone)]
pub(super) enum Piece<'p> {
    /// Unquoted text.
    Literal(String),
    Part(&'p Part),
}

/// Whether a word has braces that could expand.
pub(super) fn has_braces(parts: &[Part]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Literal(text) if text.contains('{')))
}

/// The words that a word with braces becomes.
pub(super) fn expand(parts: &[Part]) -> Vec<Vec<Piece<'_>>> {
    let mut tokens = Vec::new();
    for part in parts {
        match part {
            Part::Literal(text) => {
                let mut rest = text.as_str();
                while let Some(at) = rest.find(['{', ',', '}']) {
                    let (before, from) = rest.split_at(at);
                    if !before.is_empty() {
                        tokens.push(Piece::Literal(before.to_owned()));
                    }
                    let (mark, after) = from.split_at(1);
                    tokens.push(Piece::Literal(mark.to_owned()));
                    rest = after;
                }
                if !rest.is_empty() {
                    tokens.push(Piece::Literal(rest.to_owned()));
                }
            }
            other => tokens.push(Piece::Part(other)),
        }
    }
    // Many marks would take long to pair up, and nobody writes them.
    if tokens.len() > TOKENS {
        return vec![tokens];
    }
    let mut budget = MOST;
    let mut words = expand_tokens(&tokens, &mut budget, 0);
    if budget == 0 {
        // Some were left out: they could be anything.
        words.push(vec![Piece::Literal(HOLE.to_string())]);
    }
    words
}

fn is_mark(piece: &Piece<'_>, mark: &str) -> bool {
    matches!(piece, Piece::Literal(text) if text == mark)
}

fn expand_tokens<'p>(tokens: &[Piece<'p>], budget: &mut usize, depth: u8) -> Vec<Vec<Piece<'p>>> {
    let whole = || vec![tokens.to_vec()];
    if depth > 8 {
        return whole();
    }
    let mut search = 0;
    loop {
        let Some(open) =
            tokens.iter().skip(search).position(|piece| is_mark(piece, "{")).map(|at| at + search)
        else {
            return whole();
        };
        let Some((close, commas)) = matching(tokens, open) else {
            search = open + 1;
            continue;
        };
        let inner = |from: usize, to: usize| tokens.get(from..to).unwrap_or_default();
        let choices: Vec<Vec<Piece<'p>>> = if commas.is_empty() {
            match inner(open + 1, close) {
                [Piece::Literal(text)] if text.contains("..") => match sequence(text) {
                    Some(values) => values.into_iter().map(|value| vec![Piece::Literal(value)]).collect(),
                    None => {
                        search = open + 1;
                        continue;
                    }
                },
                _ => {
                    search = open + 1;
                    continue;
                }
            }
        } else {
            let mut from = open + 1;
            let mut choices = Vec::new();
            for end in commas.into_iter().chain([close]) {
                choices.extend(expand_tokens(inner(from, end), budget, depth + 1));
                from = end + 1;
            }
            choices
        };
        let tails = expand_tokens(inner(close + 1, tokens.len()), budget, depth + 1);
        let mut words = Vec::new();
        for choice in &choices {
            for tail in &tails {
                if *budget == 0 {
                    return words;
                }
                *budget -= 1;
                let mut word = inner(0, open).to_vec();
                word.extend(choice.iter().cloned());
                word.extend(tail.iter().cloned());
                words.push(word);
            }
        }
        return words;
    }
}

/// The closing brace of an opening one, and the commas between that belong to it.
fn matching(tokens: &[Piece<'_>], open: usize) -> Option<(usize, Vec<usize>)> {
    let mut depth = 0_usize;
    let mut commas = Vec::new();
    for (at, piece) in tokens.iter().enumerate().skip(open + 1) {
        if is_mark(piece, "{") {
            depth += 1;
        } else if is_mark(piece, "}") {
            if depth == 0 {
                return Some((at, commas));
            }
            depth -= 1;
        } else if depth == 0 && is_mark(piece, ",") {
            commas.push(at);
        }
    }
    None
}

/// `1..3` and `a..c`, no more than a few of them.
fn sequence(text: &str) -> Option<Vec<String>> {
    const VALUES: usize = 16;
    let mut ends = text.split("..");
    let (first, last) = (ends.next()?, ends.next()?);
    if let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let (low, high) = (first.min(last), first.max(last));
        return Some((low..=high).take(VALUES).map(|value| value.to_string()).collect());
    }
    let letter = |text: &str| text.chars().next().filter(|c| text.len() == 1 && c.is_ascii_alphanumeric());
    let (first, last) = (letter(first)?, letter(last)?);
    Some((first.min(last)..=first.max(last)).take(VALUES).map(String::from).collect())
}
