//! The names that an expression takes from outside. `x` in `list.exists(x, x > 3)` is its own.

use cel::common::ast::{EntryExpr, Expr, IdedExpr};

/// The names that an expression takes from outside, each once.
pub(crate) fn free_names(expression: &IdedExpr) -> Vec<&str> {
    let mut found = Vec::new();
    walk(expression, &mut Vec::new(), &mut found);
    found
}

fn walk<'e>(expression: &'e IdedExpr, own: &mut Vec<&'e str>, found: &mut Vec<&'e str>) {
    match &expression.expr {
        Expr::Ident(name) => {
            let name = name.as_str();
            // What begins with an at sign is made by the library's own macros.
            if !name.starts_with('@') && !own.contains(&name) && !found.contains(&name) {
                found.push(name);
            }
        }
        Expr::Call(call) => {
            for part in call.target.iter().map(AsRef::as_ref).chain(&call.args) {
                walk(part, own, found);
            }
        }
        Expr::Comprehension(comprehension) => {
            for part in [&comprehension.iter_range, &comprehension.accu_init] {
                walk(part, own, found);
            }
            let outside = own.len();
            own.extend([comprehension.iter_var.as_str(), comprehension.accu_var.as_str()]);
            own.extend(comprehension.iter_var2.as_deref());
            for part in [&comprehension.loop_cond, &comprehension.loop_step, &comprehension.result] {
                walk(part, own, found);
            }
            own.truncate(outside);
        }
        Expr::List(list) => list.elements.iter().for_each(|part| walk(part, own, found)),
        Expr::Select(select) => walk(&select.operand, own, found),
        Expr::Map(map) => map.entries.iter().for_each(|entry| walk_entry(&entry.expr, own, found)),
        Expr::Struct(made) => made.entries.iter().for_each(|entry| walk_entry(&entry.expr, own, found)),
        Expr::Literal(_) | Expr::Unspecified => {}
    }
}

fn walk_entry<'e>(entry: &'e EntryExpr, own: &mut Vec<&'e str>, found: &mut Vec<&'e str>) {
    match entry {
        EntryExpr::StructField(field) => walk(&field.value, own, found),
        EntryExpr::MapEntry(entry) => {
            walk(&entry.key, own, found);
            walk(&entry.value, own, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_expression_names_for_itself_is_not_taken_from_outside() {
        for (text, expected) in [
            ("args.x > 1 && agent == 'a'", vec!["args", "agent"]),
            ("args.l.exists(x, x > agent)", vec!["args", "agent"]),
            ("args.l.map(x, x.y).all(y, y in now)", vec!["args", "now"]),
            ("[1, 2].filter(x, x > 1).size() > 0", vec![]),
            ("args.l.exists(x, true) && x", vec!["args", "x"]),
            ("{'a': b}.a == [c][0]", vec!["b", "c"]),
        ] {
            let program = cel::Program::compile(text).unwrap();
            assert_eq!(free_names(program.expression()), expected, "{text}");
        }
    }
}
