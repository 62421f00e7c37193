//! Lowers Python's expressions.

use std::rc::Rc;

use tree_sitter::Node;

use super::statements::parameters;
use crate::code::decode::unescape;
use crate::code::parse::{Source, children, integer};
use crate::code::tree::{self, Argument, Call, Comprehension, Expr, Function, Operator, Target};

/// Lowers an expression.
pub(super) fn expression(source: &mut Source<'_>, node: Node<'_>) -> tree::Node {
    let lowered = source.nested(node, |source| lower(source, node));
    let expr = lowered.unwrap_or_else(|| Expr::Opaque(Vec::new()));
    source.node(node, expr)
}

fn child(source: &mut Source<'_>, node: Node<'_>, field: &str) -> Box<tree::Node> {
    Box::new(match node.child_by_field_name(field) {
        Some(child) => expression(source, child),
        None => source.node(node, Expr::Opaque(Vec::new())),
    })
}

fn all(source: &mut Source<'_>, node: Node<'_>) -> Vec<tree::Node> {
    children(node).into_iter().map(|child| expression(source, child)).collect()
}

fn lower(source: &mut Source<'_>, node: Node<'_>) -> Expr {
    match node.kind() {
        "identifier" => Expr::Name(source.text_of(node).into()),
        "string" => string(source, node),
        "concatenated_string" => Expr::Join(all(source, node)),
        "integer" => integer(source.text_of(node)).map_or_else(|| Expr::Opaque(Vec::new()), Expr::Number),
        "true" => Expr::Flag(true),
        "false" => Expr::Flag(false),
        "none" => Expr::Nothing,
        "attribute" => {
            let name =
                node.child_by_field_name("attribute").map(|name| source.text_of(name)).unwrap_or_default();
            Expr::Member(child(source, node, "object"), name.into())
        }
        "subscript" => subscript(source, node),
        "call" => call(source, node),
        "binary_operator" => binary(source, node),
        "boolean_operator" => Expr::Either(spine(source, node, "boolean_operator", None)),
        "conditional_expression" => {
            let mut parts = all(source, node).into_iter();
            let (first, condition, last) = (parts.next(), parts.next(), parts.next());
            let either = Expr::Either(first.into_iter().chain(last).collect());
            let mut sequence: Vec<tree::Node> = condition.into_iter().collect();
            sequence.push(source.node(node, either));
            Expr::Sequence(sequence)
        }
        "yield" => match children(node).into_iter().next_back() {
            Some(inner) => Expr::Yield(Box::new(expression(source, inner))),
            None => Expr::Nothing,
        },
        "parenthesized_expression"
        | "await"
        | "list_splat"
        | "dictionary_splat"
        | "as_pattern"
        | "interpolation"
        | "expression_statement" => match node.named_child(0) {
            Some(inner) if node.kind() == "list_splat" => Expr::Spread(Box::new(expression(source, inner))),
            Some(inner) => expression(source, inner).expr,
            None => Expr::Nothing,
        },
        "list" | "tuple" | "set" | "expression_list" | "pattern_list" => Expr::List(all(source, node)),
        "dictionary" => Expr::Map(
            children(node)
                .into_iter()
                .map(|entry| match (entry.child_by_field_name("key"), entry.child_by_field_name("value")) {
                    (Some(key), Some(value)) => (Some(expression(source, key)), expression(source, value)),
                    _ => (None, expression(source, entry)),
                })
                .collect(),
        ),
        "lambda" => {
            let parameters = node.child_by_field_name("parameters").map(|list| parameters(source, list));
            let result = Some(*child(source, node, "body"));
            let parameters = parameters.unwrap_or_default();
            Expr::Function(Rc::new(Function {
                parameters,
                body: Vec::new(),
                result,
                span: source.span(node),
            }))
        }
        "list_comprehension" | "generator_expression" | "set_comprehension" | "dictionary_comprehension" => {
            comprehension(source, node)
        }
        "named_expression" => {
            let name = node.child_by_field_name("name").map(|name| target(source, name));
            Expr::Assign(Box::new(name.unwrap_or(Target::Nowhere)), child(source, node, "value"))
        }
        "unary_operator" => {
            let inner = *child(source, node, "argument");
            match inner.expr {
                Expr::Number(number) if source.text_of(node).starts_with('-') => {
                    Expr::Number(number.saturating_neg())
                }
                _ => Expr::Opaque(vec![inner]),
            }
        }
        // Comparisons, `not`, floats, slices and whatever could not be parsed.
        _ => Expr::Opaque(all(source, node)),
    }
}

fn subscript(source: &mut Source<'_>, node: Node<'_>) -> Expr {
    let object = child(source, node, "value");
    let Some(key) = node.child_by_field_name("subscript") else { return Expr::Opaque(vec![*object]) };
    if key.kind() != "slice" {
        return Expr::Index(object, Box::new(expression(source, key)));
    }
    // The bounds stand between colons: which of them are given is told by where the colons are.
    let mut bounds = vec![None];
    let mut cursor = key.walk();
    let parts: Vec<Node<'_>> = key.children(&mut cursor).collect();
    for part in parts {
        if part.kind() == ":" {
            bounds.push(None);
        } else if part.is_named() {
            let bound = expression(source, part);
            if let Some(last) = bounds.last_mut() {
                *last = Some(bound);
            }
        }
    }
    Expr::Slice(object, bounds)
}

fn call(source: &mut Source<'_>, node: Node<'_>) -> Expr {
    let function = *child(source, node, "function");
    let Some(list) = node.child_by_field_name("arguments") else { return Expr::Opaque(vec![function]) };
    if list.kind() == "generator_expression" {
        let args = vec![Argument::Plain(expression(source, list))];
        return Expr::Call(Box::new(Call { function, args }));
    }
    let mut args = Vec::new();
    for argument in children(list) {
        args.push(match argument.kind() {
            "keyword_argument" => {
                let name =
                    argument.child_by_field_name("name").map(|name| source.text_of(name)).unwrap_or_default();
                Argument::Named(name.into(), *child(source, argument, "value"))
            }
            "list_splat" => Argument::Spread(spread(source, argument)),
            "dictionary_splat" => Argument::SpreadMap(spread(source, argument)),
            _ => Argument::Plain(expression(source, argument)),
        });
    }
    Expr::Call(Box::new(Call { function, args }))
}

fn spread(source: &mut Source<'_>, node: Node<'_>) -> tree::Node {
    let inner = node.named_child(0).unwrap_or(node);
    if inner == node { source.node(node, Expr::Opaque(Vec::new())) } else { expression(source, inner) }
}

fn operator_of<'s>(source: &Source<'s>, node: Node<'_>) -> &'s str {
    node.child_by_field_name("operator").map(|operator| source.text_of(operator)).unwrap_or_default()
}

fn binary(source: &mut Source<'_>, node: Node<'_>) -> Expr {
    let operator = match operator_of(source, node) {
        "+" => return Expr::Add(spine(source, node, "binary_operator", Some("+"))),
        "-" => Operator::Subtract,
        "*" => Operator::Multiply,
        "/" => Operator::Divide,
        "%" => Operator::Remainder,
        "^" => Operator::Xor,
        _ => Operator::Other,
    };
    Expr::Binary(operator, child(source, node, "left"), child(source, node, "right"))
}

/// `a + b + c` as one list: such a chain leans to the left, and may be long.
fn spine(source: &mut Source<'_>, node: Node<'_>, kind: &str, operator: Option<&str>) -> Vec<tree::Node> {
    let mut operands = Vec::new();
    let mut at = node;
    loop {
        if let Some(right) = at.child_by_field_name("right") {
            operands.push(expression(source, right));
        }
        match at.child_by_field_name("left") {
            Some(left)
                if left.kind() == kind
                    && operator.is_none_or(|operator| operator_of(source, left) == operator) =>
            {
                at = left;
            }
            Some(left) => {
                operands.push(expression(source, left));
                break;
            }
            None => break,
        }
    }
    operands.reverse();
    operands
}

fn comprehension(source: &mut Source<'_>, node: Node<'_>) -> Expr {
    let mut clauses = Vec::new();
    let mut conditions = Vec::new();
    for part in children(node) {
        match part.kind() {
            "for_in_clause" => {
                if let (Some(left), Some(right)) =
                    (part.child_by_field_name("left"), part.child_by_field_name("right"))
                {
                    clauses.push((target(source, left), expression(source, right)));
                }
            }
            "if_clause" => conditions.extend(all(source, part)),
            _ => {}
        }
    }
    let element = match node.child_by_field_name("body") {
        Some(body) if body.kind() == "pair" => {
            let parts = all(source, body);
            source.node(body, Expr::List(parts))
        }
        Some(body) => expression(source, body),
        None => source.node(node, Expr::Opaque(Vec::new())),
    };
    Expr::Comprehension(Box::new(Comprehension { clauses, conditions, element }))
}

/// A string with its prefix: `r"..."`, `b"..."`, `f"..."`.
fn string(source: &mut Source<'_>, node: Node<'_>) -> Expr {
    let mut raw = false;
    let mut parts: Vec<tree::Node> = Vec::new();
    for part in children(node) {
        match part.kind() {
            "string_start" => raw = source.text_of(part).contains(['r', 'R']),
            "string_content" => {
                let text = source.text_of(part);
                let is_format = source.text_of(node).chars().take(3).any(|c| matches!(c, 'f' | 'F'));
                let text = if raw { text.to_owned() } else { unescape(text) };
                // `{{` in an f-string is a brace; in any other string it is two.
                let text = if is_format { text.replace("{{", "{").replace("}}", "}") } else { text };
                parts.push(source.node(part, Expr::Text(text.into())));
            }
            "interpolation" => parts.push(expression(source, part)),
            _ => {}
        }
    }
    match parts.len() {
        0 => Expr::Text("".into()),
        1 if matches!(parts.first().map(|part| &part.expr), Some(Expr::Text(_))) => {
            parts.pop().map_or(Expr::Nothing, |part| part.expr)
        }
        _ => Expr::Join(parts),
    }
}

/// Lowers what is assigned to.
pub(super) fn target(source: &mut Source<'_>, node: Node<'_>) -> Target {
    match node.kind() {
        "identifier" => Target::Name(source.text_of(node).into()),
        "attribute" => {
            let name =
                node.child_by_field_name("attribute").map(|name| source.text_of(name)).unwrap_or_default();
            Target::Member(*child(source, node, "object"), name.into())
        }
        "subscript" => match node.child_by_field_name("subscript") {
            Some(key) => Target::Index(*child(source, node, "value"), expression(source, key)),
            None => Target::Nowhere,
        },
        "pattern_list" | "tuple_pattern" | "list_pattern" | "tuple" | "list" | "expression_list" => {
            let targets = source
                .nested(node, |source| {
                    children(node).into_iter().map(|child| target(source, child)).collect()
                })
                .unwrap_or_default();
            Target::List(targets)
        }
        "list_splat_pattern" | "parenthesized_expression" | "list_splat" => match node.named_child(0) {
            Some(inner) if node.kind() != "parenthesized_expression" => Target::Rest(Box::new(
                source.nested(node, |source| target(source, inner)).unwrap_or(Target::Nowhere),
            )),
            Some(inner) => source.nested(node, |source| target(source, inner)).unwrap_or(Target::Nowhere),
            None => Target::Nowhere,
        },
        _ => Target::Nowhere,
    }
}
