//! Lowers Python's statements.

use std::rc::Rc;

use tree_sitter::Node;

use super::expressions::{expression, target};
use crate::code::parse::{Source, children, in_field};
use crate::code::tree::{Class, Expr, Function, Loop, Name, Operator, Parameter, Statement, Takes, Target};

/// Lowers the statements of a module or block.
pub(super) fn block(source: &mut Source<'_>, node: Node<'_>) -> Vec<Statement> {
    let mut statements = Vec::new();
    source.nested(node, |source| {
        for child in children(node) {
            statement(source, child, &mut statements);
        }
    });
    statements
}

fn field_block(source: &mut Source<'_>, node: Node<'_>, field: &str) -> Vec<Statement> {
    node.child_by_field_name(field).map(|body| block(source, body)).unwrap_or_default()
}

#[expect(clippy::too_many_lines, reason = "one arm for each kind of statement")]
fn statement(source: &mut Source<'_>, node: Node<'_>, out: &mut Vec<Statement>) {
    match node.kind() {
        "expression_statement" => {
            for child in children(node) {
                expression_statement(source, child, out);
            }
        }
        "import_statement" => {
            let names = in_field(node, "name").into_iter().map(|name| import(source, name)).collect();
            out.push(Statement::Import(names));
        }
        "import_from_statement" | "future_import_statement" => import_from(source, node, out),
        "function_definition" => out.push(definition(source, node, Vec::new())),
        "class_definition" => out.push(Statement::Class(class(source, node))),
        "decorated_definition" => {
            let decorators: Vec<_> = children(node)
                .into_iter()
                .filter(|child| child.kind() == "decorator")
                .filter_map(|child| child.named_child(0))
                .map(|child| expression(source, child))
                .collect();
            match node.child_by_field_name("definition") {
                Some(inner) if inner.kind() == "function_definition" => {
                    out.push(definition(source, inner, decorators));
                }
                Some(inner) => {
                    out.extend(decorators.into_iter().map(Statement::Evaluate));
                    out.push(Statement::Class(class(source, inner)));
                }
                None => {}
            }
        }
        "if_statement" => {
            let mut branches = Vec::new();
            branch(source, node, out, &mut branches);
            for alternative in in_field(node, "alternative") {
                match alternative.kind() {
                    "elif_clause" => branch(source, alternative, out, &mut branches),
                    _ => branches.push(field_block(source, alternative, "body")),
                }
            }
            out.push(Statement::Branches(branches));
        }
        "for_statement" => {
            let each = match (node.child_by_field_name("left"), node.child_by_field_name("right")) {
                (Some(left), Some(right)) => Some((target(source, left), expression(source, right))),
                _ => None,
            };
            let body = field_block(source, node, "body");
            out.push(Statement::Loop(Box::new(Loop { each, test: None, endless: false, body })));
            otherwise(source, node, out);
        }
        "while_statement" => {
            let test = node.child_by_field_name("condition").map(|test| expression(source, test));
            let always = test.as_ref().is_some_and(|test| match test.expr {
                Expr::Flag(flag) => flag,
                Expr::Number(number) => number != 0,
                _ => false,
            });
            let endless =
                always && node.child_by_field_name("body").is_some_and(|body| !leaves(source, body));
            let body = field_block(source, node, "body");
            out.push(Statement::Loop(Box::new(Loop { each: None, test, endless, body })));
            otherwise(source, node, out);
        }
        "try_statement" => {
            out.push(Statement::Block(field_block(source, node, "body")));
            for clause in children(node) {
                let body = match clause.kind() {
                    "except_clause" | "except_group_clause" | "else_clause" | "finally_clause" => {
                        children(clause).into_iter().rfind(|child| child.kind() == "block")
                    }
                    _ => None,
                };
                if let Some(body) = body {
                    out.push(Statement::Branches(vec![block(source, body)]));
                }
            }
        }
        "with_statement" => {
            for clause in children(node) {
                match clause.kind() {
                    "with_clause" => {
                        for item in children(clause) {
                            with_item(source, item, out);
                        }
                    }
                    "block" => out.extend(block(source, clause)),
                    _ => {}
                }
            }
        }
        "match_statement" => {
            for subject in in_field(node, "subject") {
                out.push(Statement::Evaluate(expression(source, subject)));
            }
            let cases = node.child_by_field_name("body").map(children).unwrap_or_default();
            let branches = cases.into_iter().map(|case| field_block(source, case, "consequence")).collect();
            out.push(Statement::Branches(branches));
        }
        "return_statement" => {
            let value = node.named_child(0).map(|value| expression(source, value));
            out.push(Statement::Return(value));
        }
        "global_statement" | "nonlocal_statement" => {
            out.push(Statement::Outer(
                children(node).into_iter().map(|name| source.text_of(name).into()).collect(),
            ));
        }
        // Python 2: `exec code` and `print x`.
        "exec_statement" | "print_statement" => {
            let name = if node.kind() == "exec_statement" { "exec" } else { "print" };
            out.push(Statement::Evaluate(statement_call(source, node, name)));
        }
        "block" | "module" => out.extend(block(source, node)),
        "pass_statement" | "break_statement" | "continue_statement" | "comment" | "type_alias_statement" => {}
        // assert, delete, raise and what could not be parsed: their expressions still happen.
        _ => recovered(source, node, out),
    }
}

/// Whatever is inside of something that is no statement.
fn recovered(source: &mut Source<'_>, node: Node<'_>, out: &mut Vec<Statement>) {
    source.nested(node, |source| {
        for child in children(node) {
            if child.kind().ends_with("_statement")
                || child.kind().ends_with("_definition")
                || child.kind() == "block"
            {
                statement(source, child, out);
            } else {
                expression_statement(source, child, out);
            }
        }
    });
}

fn expression_statement(source: &mut Source<'_>, node: Node<'_>, out: &mut Vec<Statement>) {
    match node.kind() {
        "assignment" => {
            let (Some(left), Some(right)) =
                (node.child_by_field_name("left"), node.child_by_field_name("right"))
            else {
                return;
            };
            // `a = b = x` is assigned from the right.
            let value = match right.kind() {
                "assignment" => {
                    expression_statement(source, right, out);
                    right.child_by_field_name("left").map(|inner| expression(source, inner))
                }
                _ => Some(expression(source, right)),
            };
            if let Some(value) = value {
                out.push(Statement::Assign { target: target(source, left), value, declares: true });
            }
        }
        "augmented_assignment" => {
            let (Some(left), Some(right)) =
                (node.child_by_field_name("left"), node.child_by_field_name("right"))
            else {
                return;
            };
            let operator = match node.child_by_field_name("operator").map(|operator| source.text_of(operator))
            {
                Some("+=") => Operator::Add,
                Some("*=") => Operator::Multiply,
                Some("/=") => Operator::Divide,
                Some("%=") => Operator::Remainder,
                _ => Operator::Other,
            };
            out.push(Statement::Augment(target(source, left), operator, expression(source, right)));
        }
        _ => {
            let value = expression(source, node);
            out.push(Statement::Evaluate(value));
        }
    }
}

/// `import a.b`, `import a.b as c`.
fn import(source: &Source<'_>, node: Node<'_>) -> (Name, Name) {
    let field = |name: &str| node.child_by_field_name(name).map(|child| source.text_of(child));
    match (field("name"), field("alias")) {
        (Some(full), Some(alias)) => (alias.into(), full.into()),
        _ => {
            // `import os.path` makes `os` known.
            let full = source.text_of(node);
            let first = full.split('.').next().unwrap_or(full);
            (first.into(), first.into())
        }
    }
}

fn import_from(source: &Source<'_>, node: Node<'_>, out: &mut Vec<Statement>) {
    let module =
        node.child_by_field_name("module_name").map(|module| source.text_of(module)).unwrap_or_default();
    if children(node).iter().any(|child| child.kind() == "wildcard_import") {
        out.push(Statement::ImportAll(module.into()));
        return;
    }
    let names = in_field(node, "name").into_iter().map(|name| {
        let field = |field: &str| name.child_by_field_name(field).map(|child| source.text_of(child));
        let inner = field("name").unwrap_or_else(|| source.text_of(name));
        let local = field("alias").unwrap_or(inner);
        (Name::from(local), Name::from(format!("{module}.{inner}")))
    });
    out.push(Statement::Import(names.collect()));
}

fn definition(
    source: &mut Source<'_>,
    node: Node<'_>,
    decorators: Vec<crate::code::tree::Node>,
) -> Statement {
    let name = node.child_by_field_name("name").map(|name| source.text_of(name)).unwrap_or_default();
    let parameters =
        node.child_by_field_name("parameters").map(|list| parameters(source, list)).unwrap_or_default();
    let body = field_block(source, node, "body");
    let function = Function { parameters, body, result: None, span: source.span(node) };
    Statement::Define { name: name.into(), function: Rc::new(function), decorators }
}

/// The parameters of a function or lambda.
pub(super) fn parameters(source: &mut Source<'_>, list: Node<'_>) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    for node in children(list) {
        let name = |node: Node<'_>| Target::Name(source.text_of(node).into());
        let (target, takes) = match node.kind() {
            "identifier" => (name(node), Takes::One),
            "list_splat_pattern" => (node.named_child(0).map_or(Target::Nowhere, name), Takes::RestOfList),
            "dictionary_splat_pattern" => {
                (node.named_child(0).map_or(Target::Nowhere, name), Takes::RestOfNamed)
            }
            "default_parameter" | "typed_default_parameter" => {
                (node.child_by_field_name("name").map_or(Target::Nowhere, name), Takes::One)
            }
            "typed_parameter" => match node.named_child(0) {
                Some(inner) if inner.kind() == "list_splat_pattern" => {
                    (inner.named_child(0).map_or(Target::Nowhere, name), Takes::RestOfList)
                }
                Some(inner) if inner.kind() == "dictionary_splat_pattern" => {
                    (inner.named_child(0).map_or(Target::Nowhere, name), Takes::RestOfNamed)
                }
                Some(inner) => (name(inner), Takes::One),
                None => continue,
            },
            _ => continue,
        };
        let default = node.child_by_field_name("value").map(|value| expression(source, value));
        parameters.push(Parameter { target, default, takes });
    }
    parameters
}

fn class(source: &mut Source<'_>, node: Node<'_>) -> Rc<Class> {
    let name = node.child_by_field_name("name").map(|name| source.text_of(name)).unwrap_or_default();
    let bases = node.child_by_field_name("superclasses").map(children).unwrap_or_default();
    let bases = bases
        .into_iter()
        .filter(|base| base.kind() != "keyword_argument")
        .map(|base| expression(source, base))
        .collect();
    let body = field_block(source, node, "body");
    Rc::new(Class { name: name.into(), bases, body })
}

fn branch(
    source: &mut Source<'_>,
    node: Node<'_>,
    out: &mut Vec<Statement>,
    branches: &mut Vec<Vec<Statement>>,
) {
    if let Some(condition) = node.child_by_field_name("condition") {
        out.push(Statement::Evaluate(expression(source, condition)));
    }
    branches.push(field_block(source, node, "consequence"));
}

fn otherwise(source: &mut Source<'_>, node: Node<'_>, out: &mut Vec<Statement>) {
    for alternative in in_field(node, "alternative") {
        out.push(Statement::Branches(vec![field_block(source, alternative, "body")]));
    }
}

fn with_item(source: &mut Source<'_>, item: Node<'_>, out: &mut Vec<Statement>) {
    let Some(value) = item.child_by_field_name("value") else { return };
    if value.kind() == "as_pattern"
        && let (Some(inner), Some(alias)) = (value.named_child(0), value.child_by_field_name("alias"))
    {
        let inner = expression(source, inner);
        let alias = alias.named_child(0).unwrap_or(alias);
        out.push(Statement::Assign { target: target(source, alias), value: inner, declares: true });
    } else {
        out.push(Statement::Evaluate(expression(source, value)));
    }
}

/// Python 2's `print x` and `exec x` as calls.
fn statement_call(source: &mut Source<'_>, node: Node<'_>, name: &str) -> crate::code::tree::Node {
    let args = children(node);
    let args =
        args.into_iter().map(|arg| crate::code::tree::Argument::Plain(expression(source, arg))).collect();
    let function = source.node(node, Expr::Name(name.into()));
    source.node(node, Expr::Call(Box::new(crate::code::tree::Call { function, args })))
}

/// Whether something in a loop's body leaves it.
fn leaves(source: &Source<'_>, body: Node<'_>) -> bool {
    const LOOKED_AT: usize = 2000;
    let mut stack = vec![body];
    let mut looked_at = 0;
    while let Some(node) = stack.pop() {
        looked_at += 1;
        if looked_at > LOOKED_AT {
            return true;
        }
        match node.kind() {
            "break_statement" | "return_statement" | "raise_statement" | "yield" | "await" => return true,
            "call" => {
                let function = node.child_by_field_name("function").map(|function| source.text_of(function));
                if matches!(function, Some("exit" | "quit" | "sys.exit" | "os._exit" | "next")) {
                    return true;
                }
                stack.extend(children(node));
            }
            "function_definition" | "lambda" => {}
            _ => stack.extend(children(node)),
        }
    }
    false
}
