//! Lowers JavaScript's statements.

use std::rc::Rc;

use tree_sitter::Node;

use super::expressions::{expression, function, target, text_of_key};
use crate::code::parse::{Source, children, in_field};
use crate::code::tree::{self, Class, Expr, Loop, Name, Statement, Target};

/// Lowers the statements of a program or block.
pub(super) fn block(source: &mut Source<'_>, node: Node<'_>) -> Vec<Statement> {
    let mut statements = Vec::new();
    source.nested(node, |source| {
        for child in children(node) {
            statement(source, child, &mut statements);
        }
    });
    statements
}

/// Lowers what may be a block or a single statement.
pub(super) fn body(source: &mut Source<'_>, node: Node<'_>, field: &str) -> Vec<Statement> {
    let Some(inner) = node.child_by_field_name(field) else { return Vec::new() };
    if inner.kind() == "statement_block" {
        return block(source, inner);
    }
    let mut statements = Vec::new();
    source.nested(inner, |source| statement(source, inner, &mut statements));
    statements
}

#[expect(clippy::too_many_lines, reason = "one arm for each kind of statement")]
fn statement(source: &mut Source<'_>, node: Node<'_>, out: &mut Vec<Statement>) {
    match node.kind() {
        "expression_statement" | "throw_statement" => {
            for child in children(node) {
                let value = expression(source, child);
                out.push(Statement::Evaluate(value));
            }
        }
        "lexical_declaration" | "variable_declaration" | "using_declaration" => {
            for declarator in children(node) {
                declare(source, declarator, out);
            }
        }
        "import_statement" => import(source, node, out),
        "export_statement" => {
            for field in ["declaration", "value"] {
                for inner in in_field(node, field) {
                    match field {
                        "declaration" => statement(source, inner, out),
                        _ => out.push(Statement::Evaluate(expression(source, inner))),
                    }
                }
            }
        }
        "function_declaration" | "generator_function_declaration" => {
            let name = node.child_by_field_name("name").map(|name| source.text_of(name)).unwrap_or_default();
            let function = function(source, node);
            out.push(Statement::Define { name: name.into(), function, decorators: Vec::new() });
        }
        "class_declaration" => out.push(Statement::Class(class(source, node))),
        "if_statement" => {
            let mut branches = Vec::new();
            let mut at = node;
            // `else if` leans to the right, and may be long.
            loop {
                if let Some(condition) = at.child_by_field_name("condition") {
                    out.push(Statement::Evaluate(expression(source, condition)));
                }
                branches.push(body(source, at, "consequence"));
                let otherwise =
                    at.child_by_field_name("alternative").and_then(|clause| clause.named_child(0));
                match otherwise {
                    Some(next) if next.kind() == "if_statement" => at = next,
                    Some(next) => {
                        let mut statements = Vec::new();
                        source.nested(next, |source| statement(source, next, &mut statements));
                        branches.push(statements);
                        break;
                    }
                    None => break,
                }
            }
            out.push(Statement::Branches(branches));
        }
        "for_in_statement" => {
            let each = match (node.child_by_field_name("left"), node.child_by_field_name("right")) {
                (Some(left), Some(right)) => Some((target(source, left), expression(source, right))),
                _ => None,
            };
            let body = body(source, node, "body");
            out.push(Statement::Loop(Box::new(Loop { each, test: None, endless: false, body })));
        }
        "for_statement" => {
            for start in in_field(node, "initializer") {
                match start.kind() {
                    "lexical_declaration" | "variable_declaration" => statement(source, start, out),
                    _ => out.push(Statement::Evaluate(expression(source, start))),
                }
            }
            let condition =
                node.child_by_field_name("condition").filter(|test| test.kind() != "empty_statement");
            let condition = condition.filter(|test| test.is_named());
            let test = condition.map(|test| expression(source, test));
            let mut body_statements = body(source, node, "body");
            for step in in_field(node, "increment") {
                body_statements.push(Statement::Evaluate(expression(source, step)));
            }
            let endless = test.is_none() && !leaves(node);
            out.push(Statement::Loop(Box::new(Loop { each: None, test, endless, body: body_statements })));
        }
        "while_statement" | "do_statement" => {
            let test = node.child_by_field_name("condition").map(|test| expression(source, test));
            let always = test.as_ref().is_some_and(|test| match test.expr {
                Expr::Flag(flag) => flag,
                Expr::Number(number) => number != 0,
                _ => false,
            });
            let body = body(source, node, "body");
            let endless = always && !leaves(node);
            out.push(Statement::Loop(Box::new(Loop { each: None, test, endless, body })));
        }
        "try_statement" => {
            out.push(Statement::Block(body(source, node, "body")));
            for field in ["handler", "finalizer"] {
                if let Some(clause) = node.child_by_field_name(field) {
                    out.push(Statement::Branches(vec![body(source, clause, "body")]));
                }
            }
        }
        "switch_statement" => {
            if let Some(value) = node.child_by_field_name("value") {
                out.push(Statement::Evaluate(expression(source, value)));
            }
            let cases = node.child_by_field_name("body").map(children).unwrap_or_default();
            let mut branches = Vec::new();
            for case in cases {
                let mut statements = Vec::new();
                source.nested(case, |source| {
                    for inner in in_field(case, "body") {
                        statement(source, inner, &mut statements);
                    }
                });
                branches.push(statements);
            }
            out.push(Statement::Branches(branches));
        }
        "return_statement" => {
            let value = node.named_child(0).map(|value| expression(source, value));
            out.push(Statement::Return(value));
        }
        "statement_block" | "program" => out.push(Statement::Block(block(source, node))),
        "labeled_statement" | "with_statement" => out.extend(body(source, node, "body")),
        "break_statement" | "continue_statement" | "comment" | "empty_statement" | "hash_bang_line"
        | "debugger_statement" => {}
        // What could not be parsed: the parts of it still count.
        _ => recovered(source, node, out),
    }
}

fn recovered(source: &mut Source<'_>, node: Node<'_>, out: &mut Vec<Statement>) {
    if node.kind() != "ERROR" {
        let value = expression(source, node);
        out.push(Statement::Evaluate(value));
        return;
    }
    source.nested(node, |source| {
        for child in children(node) {
            statement(source, child, out);
        }
    });
}

fn declare(source: &mut Source<'_>, declarator: Node<'_>, out: &mut Vec<Statement>) {
    let Some(name) = declarator.child_by_field_name("name") else { return };
    let value = match declarator.child_by_field_name("value") {
        Some(value) => expression(source, value),
        None => source.node(declarator, Expr::Nothing),
    };
    out.push(Statement::Assign { target: target(source, name), value, declares: true });
}

fn import(source: &mut Source<'_>, node: Node<'_>, out: &mut Vec<Statement>) {
    let Some(from) = node.child_by_field_name("source") else { return };
    let module: Name = text_of_key(source, from);
    let mut names = Vec::new();
    for clause in children(node).into_iter().filter(|child| child.kind() == "import_clause") {
        for part in children(clause) {
            match part.kind() {
                "identifier" => names.push((Name::from(source.text_of(part)), Rc::clone(&module))),
                "namespace_import" => {
                    if let Some(name) = part.named_child(0) {
                        names.push((Name::from(source.text_of(name)), Rc::clone(&module)));
                    }
                }
                _ => {
                    for specifier in children(part) {
                        let field = |field: &str| {
                            specifier.child_by_field_name(field).map(|node| source.text_of(node))
                        };
                        let inner = field("name").unwrap_or_default();
                        let local = field("alias").unwrap_or(inner);
                        names.push((local.into(), format!("{module}.{inner}").into()));
                    }
                }
            }
        }
    }
    out.push(Statement::Import(names));
}

/// Lowers a class: methods become definitions, fields become assignments.
pub(super) fn class(source: &mut Source<'_>, node: Node<'_>) -> Rc<Class> {
    let name = node.child_by_field_name("name").map(|name| source.text_of(name)).unwrap_or_default();
    let heritage = children(node).into_iter().find(|child| child.kind() == "class_heritage");
    let bases = heritage.and_then(|heritage| heritage.named_child(0)).map(|base| expression(source, base));
    let mut statements = Vec::new();
    source.nested(node, |source| {
        for member in node.child_by_field_name("body").map(children).unwrap_or_default() {
            match member.kind() {
                "method_definition" => {
                    let name = member.child_by_field_name("name").map(|name| text_of_key(source, name));
                    let function = function(source, member);
                    let name = name.unwrap_or_else(|| "".into());
                    statements.push(Statement::Define { name, function, decorators: Vec::new() });
                }
                "field_definition" => {
                    let name = member.child_by_field_name("property").map(|name| text_of_key(source, name));
                    if let (Some(name), Some(value)) = (name, member.child_by_field_name("value")) {
                        let value = expression(source, value);
                        statements.push(Statement::Assign {
                            target: Target::Name(name),
                            value,
                            declares: true,
                        });
                    }
                }
                _ => statements.extend(body(source, member, "body")),
            }
        }
    });
    Rc::new(Class {
        name: name.into(),
        bases: bases.into_iter().collect::<Vec<tree::Node>>(),
        body: statements,
    })
}

/// Whether something in a loop's body leaves it.
fn leaves(node: Node<'_>) -> bool {
    const LOOKED_AT: usize = 2000;
    let mut stack = vec![node];
    let mut looked_at = 0;
    while let Some(node) = stack.pop() {
        looked_at += 1;
        if looked_at > LOOKED_AT {
            return true;
        }
        match node.kind() {
            "break_statement" | "return_statement" | "throw_statement" | "await_expression" => return true,
            "function_declaration" | "arrow_function" | "function_expression" => {}
            _ => stack.extend(children(node)),
        }
    }
    false
}
