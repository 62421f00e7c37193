//! Numbers by their exact decimal value.
//!
//! A number is kept as its sign, its significant digits and the position of its decimal point, and is
//! written in the layout of ECMAScript's `Number::toString`. Where RFC 8785 and the exact value agree, which
//! is whenever the shortest digits of the nearest double are the number itself, the text is the one that RFC
//! 8785 prescribes. Where they differ (9007199254740993, 1e400) the exact digits stay. So equal values have
//! one spelling, and different values have different ones.

use std::cmp::Ordering;
use std::fmt;

/// A JSON number, normalised: 899, 899.00 and 8.99e2 are the same value.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Number {
    negative: bool,
    /// Significant digits, without leading or trailing zeros; empty for zero.
    digits: Box<str>,
    /// The value is `0.DIGITS` times ten to this power.
    point: i64,
}

impl Number {
    /// Reads a text that already follows the JSON grammar for numbers.
    ///
    /// Returns `None` if the exponent is beyond [`Number::MAX_EXPONENT`], as it stands or as the canonical text
    /// would have it: such a number has no use but to make a reader allocate.
    pub(super) fn from_json_text(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (unsigned, 0),
        };
        if exponent.abs() > Self::MAX_EXPONENT {
            return None;
        }
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all: String = [whole, fraction].concat();
        let stripped = all.trim_start_matches('0');
        let leading_zeros = all.len() - stripped.len();
        let digits = stripped.trim_end_matches('0');
        if digits.is_empty() {
            return Some(Self { negative: false, digits: "".into(), point: 0 });
        }
        let point = to_i64(whole.len())? - to_i64(leading_zeros)? + exponent;
        // 12e9999 is written 1.2e+10000: a canonical text that its own reader refuses would be stored and
        // never read again.
        if (point - 1).abs() > Self::MAX_EXPONENT {
            return None;
        }
        Some(Self { negative, digits: digits.into(), point })
    }

    /// Reads a number as JSON writes it; `None` if it is not one, or too large to be of use.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match super::parse(text.as_bytes()).ok()? {
            super::Json::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The largest power of ten that a number may be written with.
    pub const MAX_EXPONENT: i64 = 9_999;

    /// By how many bytes the canonical text can outgrow the text that was read: 1e20 is written with 21 digits.
    pub(super) const MAX_GROWTH: usize = 21;

    /// The nearest double, for comparisons that need no more; infinite when out of range.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// The value as an unsigned integer, if it is one.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        let text = self.to_string();
        text.parse().ok()
    }

    /// The value as a signed integer, if it is one.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.to_string().parse().ok()
    }
}

impl Ord for Number {
    /// By exact value: no rounding makes two numbers equal that are not.
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.digits.is_empty(), number.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let by_size = || self.point.cmp(&other.point).then_with(|| self.digits.cmp(&other.digits));
        sign(self).cmp(&sign(other)).then_with(|| match sign(self) {
            0 => Ordering::Equal,
            1 => by_size(),
            _ => by_size().reverse(),
        })
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        let text = value.to_string();
        let digits = text.trim_end_matches('0');
        if value == 0 {
            return Self { negative: false, digits: "".into(), point: 0 };
        }
        // At most 20 digits: the length always fits.
        Self { negative: false, digits: digits.into(), point: to_i64(text.len()).unwrap_or(0) }
    }
}

fn to_i64(length: usize) -> Option<i64> {
    i64::try_from(length).ok()
}

impl fmt::Display for Number {
    /// The layout of ECMA-262 `Number::toString`, for any count of digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = &*self.digits;
        if digits.is_empty() {
            return f.write_str("0");
        }
        if self.negative {
            f.write_str("-")?;
        }
        let count = to_i64(digits.len()).unwrap_or(i64::MAX);
        let point = self.point;
        if count <= point && point <= 21 {
            f.write_str(digits)?;
            zeros(f, point - count)
        } else if 0 < point && point <= 21 {
            // `point` is inside the digits here, so the split always succeeds.
            let at = usize::try_from(point).unwrap_or(0);
            let (whole, fraction) = digits.split_at_checked(at).unwrap_or((digits, ""));
            write!(f, "{whole}.{fraction}")
        } else if -6 < point && point <= 0 {
            f.write_str("0.")?;
            zeros(f, -point)?;
            f.write_str(digits)
        } else {
            let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
            let exponent = point - 1;
            f.write_str(first)?;
            if !rest.is_empty() {
                write!(f, ".{rest}")?;
            }
            write!(f, "e{}{}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
        }
    }
}

fn zeros(f: &mut fmt::Formatter<'_>, count: i64) -> fmt::Result {
    (0..count).try_for_each(|_| f.write_str("0"))
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        Number::from_json_text(text).unwrap().to_string()
    }

    #[test]
    fn follows_rfc_8785_where_a_double_has_that_value() {
        // From RFC 8785 appendix B and section 3.2.2, as far as the text is the double's own shortest form.
        for (text, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("0.0e7", "0"),
            ("899.00", "899"),
            ("8.99e2", "899"),
            ("4.50", "4.5"),
            ("2e-3", "0.002"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("0.000000000000000000000000001", "1e-27"),
            ("1E30", "1e+30"),
            ("1e21", "1e+21"),
            ("100000000000000000000", "100000000000000000000"),
            ("1e20", "100000000000000000000"),
            ("999999999999999700000", "999999999999999700000"),
            ("333333333.3333332", "333333333.3333332"),
            ("-333333333.33333325", "-333333333.33333325"),
            ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("9007199254740992", "9007199254740992"),
        ] {
            assert_eq!(canonical(text), expected, "{text}");
        }
    }

    #[test]
    fn what_a_double_cannot_hold_keeps_its_digits() {
        for (text, expected) in [
            ("9007199254740993", "9007199254740993"),
            ("1152921504606846976", "1152921504606846976"),
            ("1152921504606847000", "1152921504606847000"),
            ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
            ("1e400", "1e+400"),
            ("1e-400", "1e-400"),
            ("123456789012345678901234567890", "1.2345678901234567890123456789e+29"),
            ("1234567890123456789012345.5", "1.2345678901234567890123455e+24"),
        ] {
            assert_eq!(canonical(text), expected, "{text}");
        }
    }

    #[test]
    fn absurd_exponents_are_no_numbers() {
        assert!(Number::from_json_text("1e10000").is_none());
        assert!(Number::from_json_text("12e9999").is_none());
        assert!(Number::from_json_text("0.1e-9999").is_none());
        assert!(Number::from_json_text("1e99999999999999999999999").is_none());
    }

    #[test]
    fn integers_convert() {
        assert_eq!(Number::from_json_text("4.2e1").unwrap().as_u64(), Some(42));
        assert_eq!(Number::from_json_text("-3").unwrap().as_i64(), Some(-3));
        assert_eq!(Number::from_json_text("1.5").unwrap().as_i64(), None);
        for value in [0, 7, 10, 100_200, u64::MAX] {
            assert_eq!(Number::from(value).as_u64(), Some(value));
            assert_eq!(Number::from(value), Number::from_json_text(&value.to_string()).unwrap());
        }
    }
}
