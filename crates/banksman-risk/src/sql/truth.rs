//! Whether a condition holds for every row.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

/// How far conditions inside of conditions are followed.
const DEPTH: u8 = 48;

/// Whether a condition holds for every row, whatever is in it: `1=1`, `id = id`, `name LIKE '%'`, `x OR true`.
pub(super) fn is_always_true(condition: &Expr) -> bool {
    truth(condition, DEPTH) == Some(true)
}

/// Whether a condition excludes nothing in practice: `id IS NOT NULL`, `id > 0`.
pub(super) fn is_broad(condition: &Expr) -> bool {
    match condition {
        Expr::Nested(inner) => is_broad(inner),
        Expr::IsNotNull(column) => is_key(column),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Gt | BinaryOperator::GtEq | BinaryOperator::NotEq,
            right,
        } => {
            is_key(left) && matches!(constant(right, DEPTH), Some(Constant::Number(number)) if number <= 0.0)
        }
        _ => false,
    }
}

/// Whether it is a column that every row has a positive number in.
fn is_key(expr: &Expr) -> bool {
    let name = match expr {
        Expr::Identifier(name) => &name.value,
        Expr::CompoundIdentifier(names) => match names.last() {
            Some(name) => &name.value,
            None => return false,
        },
        _ => return false,
    };
    name.eq_ignore_ascii_case("id") || name.eq_ignore_ascii_case("rowid")
}

#[derive(Debug, Clone, PartialEq)]
enum Constant {
    Bool(bool),
    Number(f64),
    Text(String),
    Null,
}

impl Constant {
    fn as_truth(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            Self::Number(number) => Some(*number != 0.0),
            // MySQL takes '1' for true; nobody writes it by accident.
            Self::Text(text) => text.trim().parse::<f64>().ok().map(|number| number != 0.0),
            Self::Null => Some(false),
        }
    }
}

fn truth(expr: &Expr, depth: u8) -> Option<bool> {
    let depth = depth.checked_sub(1)?;
    match expr {
        Expr::Nested(inner) => truth(inner, depth),
        Expr::UnaryOp { op: UnaryOperator::Not | UnaryOperator::BangNot, expr } => {
            truth(expr, depth).map(|value| !value)
        }
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            match (truth(left, depth), truth(right, depth)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                (None, _) | (_, None) => None,
            }
        }
        Expr::BinaryOp { op: BinaryOperator::Or, .. } if has_true_branch(expr, depth) => Some(true),
        Expr::BinaryOp { left, op: BinaryOperator::Or, right } => {
            match (truth(left, depth), truth(right, depth)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                (None, _) | (_, None) => are_opposites(left, right).then_some(true),
            }
        }
        Expr::BinaryOp { left, op, right } => compare(left, op, right, depth),
        Expr::IsTrue(inner) | Expr::IsNotFalse(inner) => truth(inner, depth),
        Expr::IsFalse(inner) | Expr::IsNotTrue(inner) => truth(inner, depth).map(|value| !value),
        Expr::IsNull(inner) => constant(inner, depth).map(|value| value == Constant::Null),
        Expr::IsNotNull(inner) => constant(inner, depth).map(|value| value != Constant::Null),
        Expr::IsNotDistinctFrom(left, right) if left == right => Some(true),
        Expr::Like { negated, pattern, .. } | Expr::ILike { negated, pattern, .. } => {
            match constant(pattern, depth) {
                Some(Constant::Text(text)) if !text.is_empty() && text.bytes().all(|byte| byte == b'%') => {
                    Some(!negated)
                }
                _ => None,
            }
        }
        Expr::InList { expr, list, negated } => {
            let same = list.iter().any(|item| item == &**expr || equal(item, expr, depth) == Some(true));
            let other = list.iter().all(|item| equal(item, expr, depth) == Some(false));
            if same {
                Some(!negated)
            } else if other {
                Some(*negated)
            } else {
                None
            }
        }
        Expr::Between { expr, negated, low, high } => {
            let inside = compare(expr, &BinaryOperator::GtEq, low, depth)?
                && compare(expr, &BinaryOperator::LtEq, high, depth)?;
            Some(inside != *negated)
        }
        Expr::Exists { subquery, negated } => {
            // A query without a table has one row.
            let select = subquery.body.as_select()?;
            (select.from.is_empty() && select.selection.is_none() && select.having.is_none())
                .then_some(!negated)
        }
        Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("true") => Some(true),
        _ => constant(expr, depth)?.as_truth(),
    }
}

/// Whether one of the branches of `a OR b OR c` is always true. The chain leans to the left, as deep as it is long.
fn has_true_branch(chain: &Expr, depth: u8) -> bool {
    let mut rest = chain;
    while let Expr::BinaryOp { left, op: BinaryOperator::Or, right } = rest {
        if truth(right, depth) == Some(true) {
            return true;
        }
        rest = left;
    }
    truth(rest, depth) == Some(true)
}

/// `a` and `NOT a`, `x IS NULL` and `x IS NOT NULL`.
fn are_opposites(left: &Expr, right: &Expr) -> bool {
    match (left, right) {
        (Expr::Nested(left), right) => are_opposites(left, right),
        (left, Expr::Nested(right)) => are_opposites(left, right),
        (Expr::IsNull(a), Expr::IsNotNull(b)) | (Expr::IsNotNull(a), Expr::IsNull(b)) => a == b,
        (Expr::UnaryOp { op: UnaryOperator::Not, expr }, other)
        | (other, Expr::UnaryOp { op: UnaryOperator::Not, expr }) => {
            let inner = if let Expr::Nested(inner) = &**expr { inner } else { expr };
            **inner == *other
        }
        (
            Expr::BinaryOp { left: a, op: BinaryOperator::Eq, right: b },
            Expr::BinaryOp { left: c, op: BinaryOperator::NotEq, right: d },
        )
        | (
            Expr::BinaryOp { left: a, op: BinaryOperator::NotEq, right: b },
            Expr::BinaryOp { left: c, op: BinaryOperator::Eq, right: d },
        ) => a == c && b == d,
        _ => false,
    }
}

fn equal(left: &Expr, right: &Expr, depth: u8) -> Option<bool> {
    compare(left, &BinaryOperator::Eq, right, depth)
}

fn compare(left: &Expr, op: &BinaryOperator, right: &Expr, depth: u8) -> Option<bool> {
    let (left_value, right_value) = (constant(left, depth), constant(right, depth));
    let (Some(a), Some(b)) = (left_value, right_value) else {
        // A column against itself: only rows without a value escape.
        return match op {
            BinaryOperator::Eq | BinaryOperator::GtEq | BinaryOperator::LtEq | BinaryOperator::Spaceship
                if left == right =>
            {
                Some(true)
            }
            BinaryOperator::NotEq | BinaryOperator::Gt | BinaryOperator::Lt if left == right => Some(false),
            _ => None,
        };
    };
    if a == Constant::Null || b == Constant::Null {
        return Some(*op == BinaryOperator::Spaceship && a == b);
    }
    let order = match (&a, &b) {
        (Constant::Text(a), Constant::Text(b)) => a.partial_cmp(b)?,
        (Constant::Bool(a), Constant::Bool(b)) => a.cmp(b),
        _ => number(&a)?.partial_cmp(&number(&b)?)?,
    };
    Some(match op {
        BinaryOperator::Eq | BinaryOperator::Spaceship => order.is_eq(),
        BinaryOperator::NotEq => order.is_ne(),
        BinaryOperator::Gt => order.is_gt(),
        BinaryOperator::Lt => order.is_lt(),
        BinaryOperator::GtEq => order.is_ge(),
        BinaryOperator::LtEq => order.is_le(),
        _ => return None,
    })
}

fn number(value: &Constant) -> Option<f64> {
    match value {
        Constant::Bool(value) => Some(f64::from(u8::from(*value))),
        Constant::Number(number) => Some(*number),
        Constant::Text(text) => text.trim().parse().ok(),
        Constant::Null => None,
    }
}

/// The value of an expression without columns.
fn constant(expr: &Expr, depth: u8) -> Option<Constant> {
    let depth = depth.checked_sub(1)?;
    match expr {
        Expr::Nested(inner) => constant(inner, depth),
        Expr::Cast { expr, .. } => constant(expr, depth),
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok().map(Constant::Number),
            Value::SingleQuotedString(text)
            | Value::DoubleQuotedString(text)
            | Value::NationalStringLiteral(text)
            | Value::EscapedStringLiteral(text) => Some(Constant::Text(text.clone())),
            Value::Boolean(value) => Some(Constant::Bool(*value)),
            Value::Null => Some(Constant::Null),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            Some(Constant::Number(-number(&constant(expr, depth)?)?))
        }
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => constant(expr, depth),
        Expr::BinaryOp { left, op, right } => {
            let (left, right) = (constant(left, depth)?, constant(right, depth)?);
            if *op == BinaryOperator::StringConcat {
                return match (left, right) {
                    (Constant::Text(left), Constant::Text(right)) => Some(Constant::Text(left + &right)),
                    _ => None,
                };
            }
            let (left, right) = (number(&left)?, number(&right)?);
            Some(Constant::Number(match op {
                BinaryOperator::Plus => left + right,
                BinaryOperator::Minus => left - right,
                BinaryOperator::Multiply => left * right,
                BinaryOperator::Divide if right != 0.0 => left / right,
                BinaryOperator::Modulo if right != 0.0 => left % right,
                _ => return None,
            }))
        }
        _ => None,
    }
}
