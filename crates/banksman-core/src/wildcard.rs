//! Texts with wildcards.

/// Whether `text` fits `pattern`, in which `*` stands for any number of characters and `?` for one.
///
/// Linear in the product of the lengths at worst, without backtracking beyond one star.
#[must_use]
pub fn fits_wildcard(pattern: &str, text: &str) -> bool {
    fits(pattern, text.chars().map(Some).collect())
}

/// Whether every text that fits `other` surely fits `pattern` too. Some that do are not seen.
///
/// It is the same question, asked of the other pattern as a text: what a star takes in a pattern, it takes in every
/// text that fits it. A star in the other pattern is no character, so that nothing but a star can take it.
#[must_use]
pub fn wildcard_covers(pattern: &str, other: &str) -> bool {
    fits(pattern, other.chars().map(|c| (c != '*').then_some(c)).collect())
}

/// Whether a text fits in which `None` is something that only a star can take.
fn fits(pattern: &str, text: Vec<Option<char>>) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while let Some(&c) = text.get(n) {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p, n));
                p += 1;
            }
            Some('?') if c.is_some() => {
                p += 1;
                n += 1;
            }
            Some(&wanted) if Some(wanted) == c => {
                p += 1;
                n += 1;
            }
            _ => match retry {
                // The last star takes one character more.
                Some((star, from)) => {
                    retry = Some((star, from + 1));
                    p = star + 1;
                    n = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}
