//! Lowers JavaScript's expressions.

use std::rc::Rc;

use tree_sitter::Node;

use super::statements::{block, class};
use crate::code::decode::unescape;
use crate::code::parse::{Source, children, integer};
use crate::code::tree::{
    self, Argument, Call, Expr, Function, Name, Operator, Parameter, Statement, Takes, Target,
};

/// The name of the argument that a template is to the function before it.
pub(super) const TEMPLATE: &str = "`";

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
        "identifier"
        | "this"
        | "super"
        | "import"
        | "shorthand_property_identifier"
        | "property_identifier" => Expr::Name(source.text_of(node).into()),
        "string" => Expr::Text(string(source, node).into()),
        "template_string" => template(source, node),
        "number" => integer(source.text_of(node)).map_or_else(|| Expr::Opaque(Vec::new()), Expr::Number),
        "true" => Expr::Flag(true),
        "false" => Expr::Flag(false),
        "null" | "undefined" => Expr::Nothing,
        "member_expression" => {
            let name =
                node.child_by_field_name("property").map(|name| source.text_of(name)).unwrap_or_default();
            Expr::Member(child(source, node, "object"), name.trim_start_matches('#').into())
        }
        "subscript_expression" => Expr::Index(child(source, node, "object"), child(source, node, "index")),
        "call_expression" => call(source, node, "function"),
        "new_expression" => call(source, node, "constructor"),
        "binary_expression" => binary(source, node),
        "ternary_expression" => {
            let condition = *child(source, node, "condition");
            let options = vec![*child(source, node, "consequence"), *child(source, node, "alternative")];
            Expr::Sequence(vec![condition, source.node(node, Expr::Either(options))])
        }
        "yield_expression" => match children(node).into_iter().next_back() {
            Some(inner) => Expr::Yield(Box::new(expression(source, inner))),
            None => Expr::Nothing,
        },
        "parenthesized_expression" | "await_expression" | "template_substitution" => {
            match children(node).into_iter().next() {
                Some(inner) => expression(source, inner).expr,
                None => Expr::Nothing,
            }
        }
        "spread_element" => match node.named_child(0) {
            Some(inner) => Expr::Spread(Box::new(expression(source, inner))),
            None => Expr::Nothing,
        },
        "sequence_expression" => Expr::Sequence(all(source, node)),
        "array" => Expr::List(all(source, node)),
        "object" => object(source, node),
        "arrow_function" | "function_expression" | "generator_function" => {
            Expr::Function(function(source, node))
        }
        "class" => Expr::Class(class(source, node)),
        "assignment_expression" => {
            let left = node.child_by_field_name("left").map_or(Target::Nowhere, |left| target(source, left));
            Expr::Assign(Box::new(left), child(source, node, "right"))
        }
        "augmented_assignment_expression" => augmented(source, node),
        // Unary operators, comparisons, regular expressions, JSX and whatever could not be parsed.
        _ => Expr::Opaque(all(source, node)),
    }
}

fn augmented(source: &mut Source<'_>, node: Node<'_>) -> Expr {
    let left = node.child_by_field_name("left").map_or(Target::Nowhere, |left| target(source, left));
    let old = *child(source, node, "left");
    let added = *child(source, node, "right");
    let operator = node.child_by_field_name("operator").map(|operator| source.text_of(operator));
    let value = match operator {
        Some("+=") => Expr::Add(vec![old, added]),
        Some("||=" | "&&=" | "??=") => Expr::Either(vec![old, added]),
        _ => Expr::Opaque(vec![old, added]),
    };
    Expr::Assign(Box::new(left), Box::new(source.node(node, value)))
}

fn call(source: &mut Source<'_>, node: Node<'_>, field: &str) -> Expr {
    let function = *child(source, node, field);
    let Some(list) = node.child_by_field_name("arguments") else {
        return Expr::Call(Box::new(Call { function, args: Vec::new() }));
    };
    if list.kind() == "template_string" {
        let text = expression(source, list);
        let args = vec![Argument::Named(TEMPLATE.into(), text)];
        return Expr::Call(Box::new(Call { function, args }));
    }
    let mut args = Vec::new();
    for argument in children(list) {
        args.push(match (argument.kind(), argument.named_child(0)) {
            ("spread_element", Some(inner)) => Argument::Spread(expression(source, inner)),
            _ => Argument::Plain(expression(source, argument)),
        });
    }
    Expr::Call(Box::new(Call { function, args }))
}

fn operator_of<'s>(source: &Source<'s>, node: Node<'_>) -> &'s str {
    node.child_by_field_name("operator").map(|operator| source.text_of(operator)).unwrap_or_default()
}

fn binary(source: &mut Source<'_>, node: Node<'_>) -> Expr {
    let operator = match operator_of(source, node) {
        "+" => return Expr::Add(spine(source, node, "+")),
        operator @ ("||" | "&&" | "??") => return Expr::Either(spine(source, node, operator)),
        "-" => Operator::Subtract,
        "*" => Operator::Multiply,
        "^" => Operator::Xor,
        _ => Operator::Other,
    };
    Expr::Binary(operator, child(source, node, "left"), child(source, node, "right"))
}

/// `a + b + c` as one list: such a chain leans to the left, and may be long.
fn spine(source: &mut Source<'_>, node: Node<'_>, operator: &str) -> Vec<tree::Node> {
    let mut operands = Vec::new();
    let mut at = node;
    loop {
        if let Some(right) = at.child_by_field_name("right") {
            operands.push(expression(source, right));
        }
        match at.child_by_field_name("left") {
            Some(left) if left.kind() == "binary_expression" && operator_of(source, left) == operator => {
                at = left
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

fn object(source: &mut Source<'_>, node: Node<'_>) -> Expr {
    let mut entries = Vec::new();
    for member in children(node) {
        match member.kind() {
            "pair" => {
                let key = member.child_by_field_name("key").map(|key| key_of(source, key));
                entries.push((key, *child(source, member, "value")));
            }
            "method_definition" => {
                let key = member.child_by_field_name("name").map(|key| key_of(source, key));
                let function = function(source, member);
                entries.push((key, source.node(member, Expr::Function(function))));
            }
            "shorthand_property_identifier" => {
                let key = source.node(member, Expr::Text(source.text_of(member).into()));
                entries.push((Some(key), expression(source, member)));
            }
            _ => match member.named_child(0) {
                Some(inner) if member.kind() == "spread_element" => {
                    entries.push((None, expression(source, inner)))
                }
                _ => {}
            },
        }
    }
    Expr::Map(entries)
}

fn key_of(source: &mut Source<'_>, key: Node<'_>) -> tree::Node {
    match (key.kind(), key.named_child(0)) {
        ("computed_property_name", Some(inner)) => expression(source, inner),
        _ => {
            let text = text_of_key(source, key);
            source.node(key, Expr::Text(text))
        }
    }
}

/// The name that a property is given by: as a name, a string or a number.
pub(super) fn text_of_key(source: &Source<'_>, key: Node<'_>) -> Name {
    match key.kind() {
        "string" => string(source, key).into(),
        _ => source.text_of(key).trim_start_matches('#').into(),
    }
}

fn string(source: &Source<'_>, node: Node<'_>) -> String {
    let text = source.text_of(node);
    unescape(text.get(1..text.len().saturating_sub(1)).unwrap_or_default())
}

fn template(source: &mut Source<'_>, node: Node<'_>) -> Expr {
    let mut parts = Vec::new();
    for part in children(node) {
        match part.kind() {
            "template_substitution" => parts.push(expression(source, part)),
            _ => {
                let text = unescape(source.text_of(part));
                parts.push(source.node(part, Expr::Text(text.into())));
            }
        }
    }
    Expr::Join(parts)
}

/// Lowers a function, a method or an arrow.
pub(super) fn function(source: &mut Source<'_>, node: Node<'_>) -> Rc<Function> {
    let mut parameters = Vec::new();
    if let Some(name) = node.child_by_field_name("parameter") {
        parameters.push(Parameter { target: target(source, name), default: None, takes: Takes::One });
    }
    for parameter in node.child_by_field_name("parameters").map(children).unwrap_or_default() {
        let takes = if parameter.kind() == "rest_pattern" { Takes::RestOfList } else { Takes::One };
        let default = match parameter.kind() {
            "assignment_pattern" => Some(*child(source, parameter, "right")),
            _ => None,
        };
        let inner = match parameter.kind() {
            "assignment_pattern" => parameter.child_by_field_name("left"),
            "rest_pattern" => parameter.named_child(0),
            _ => Some(parameter),
        };
        let target = inner.map_or(Target::Nowhere, |inner| target(source, inner));
        parameters.push(Parameter { target, default, takes });
    }
    let (body, result): (Vec<Statement>, _) = match node.child_by_field_name("body") {
        Some(body) if body.kind() == "statement_block" => (block(source, body), None),
        Some(body) => (Vec::new(), Some(expression(source, body))),
        None => (Vec::new(), None),
    };
    Rc::new(Function { parameters, body, result, span: source.span(node) })
}

/// Lowers what is assigned to.
pub(super) fn target(source: &mut Source<'_>, node: Node<'_>) -> Target {
    source.nested(node, |source| target_here(source, node)).unwrap_or(Target::Nowhere)
}

fn target_here(source: &mut Source<'_>, node: Node<'_>) -> Target {
    match node.kind() {
        "identifier" | "shorthand_property_identifier_pattern" => Target::Name(source.text_of(node).into()),
        "member_expression" => {
            let name =
                node.child_by_field_name("property").map(|name| source.text_of(name)).unwrap_or_default();
            Target::Member(*child(source, node, "object"), name.trim_start_matches('#').into())
        }
        "subscript_expression" => {
            Target::Index(*child(source, node, "object"), *child(source, node, "index"))
        }
        "array_pattern" => {
            Target::List(children(node).into_iter().map(|child| target(source, child)).collect())
        }
        "object_pattern" => {
            Target::Map(children(node).into_iter().filter_map(|part| property(source, part)).collect())
        }
        "rest_pattern" => {
            let inner = node.named_child(0).map_or(Target::Nowhere, |inner| target(source, inner));
            Target::Rest(Box::new(inner))
        }
        "assignment_pattern" | "object_assignment_pattern" => {
            let left = node.child_by_field_name("left").map_or(Target::Nowhere, |left| target(source, left));
            Target::Default(Box::new(left), *child(source, node, "right"))
        }
        "parenthesized_expression" => {
            node.named_child(0).map_or(Target::Nowhere, |inner| target(source, inner))
        }
        // `for (const x of list)` without its `const`.
        _ => Target::Nowhere,
    }
}

/// One property of a pattern: what it is called, and where it goes.
fn property(source: &mut Source<'_>, node: Node<'_>) -> Option<(Name, Target)> {
    match node.kind() {
        "shorthand_property_identifier_pattern" => Some((source.text_of(node).into(), target(source, node))),
        "pair_pattern" => {
            let key = text_of_key(source, node.child_by_field_name("key")?);
            let value = node.child_by_field_name("value")?;
            Some((key, target(source, value)))
        }
        "object_assignment_pattern" => {
            let name = node.child_by_field_name("left")?;
            Some((source.text_of(name).into(), target(source, node)))
        }
        _ => None,
    }
}
