//! Texts with wildcards.

/// Whether `text` fits `pattern`, in which `*` stands for any number of characters and `?` for one.
///
/// Linear in the product of the lengths at worst, without backtracking beyond one star.
#[must_use]
pub fn fits_wildcard(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while let Some(&c) = text.get(n) {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p, n));
                p += 1;
            }
            Some('?') => {
                p += 1;
                n += 1;
            }
            Some(&wanted) if wanted == c => {
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
