//! Reads queries and changes of rows from their syntax tree.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, FromTable, ObjectName, Query, Select, SqliteOnConflict, Statement, TableFactor, TableObject, Visit,
    Visitor,
};
use sqlparser::dialect::{
    BigQueryDialect, ClickHouseDialect, Dialect, DuckDbDialect, GenericDialect, MsSqlDialect, MySqlDialect,
    OracleDialect, PostgreSqlDialect, SQLiteDialect, SnowflakeDialect,
};
use sqlparser::parser::Parser;

use super::lexer::{Kind, Token};
use super::truth::{is_always_true, is_broad};

/// Expressions inside of expressions; deeper ones are not parsed but scanned.
const RECURSION: usize = 48;

/// Operators in one statement. A chain of them is a tree as deep as the chain is long, and has to be taken down again.
const OPERATORS: usize = 1_000;

/// Tokens in one statement that is parsed; what is longer is mostly rows, and is scanned.
const TOKENS: usize = 8_000;

/// Tokens in one statement that is worth trying in every dialect.
const TOKENS_IN_ANY_DIALECT: usize = 1_000;

/// What a statement does, apart from where it stands.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Statements: verb, traits, objects.
    pub(super) statements: Vec<(&'static str, Vec<&'static str>, Vec<String>)>,
    /// Functions that are called.
    pub(super) functions: Vec<String>,
    /// Tables that are named.
    pub(super) relations: Vec<String>,
}

/// Parses a statement in the likeliest dialect, then in others. `None`: it is none in any.
pub(super) fn parse(text: &str, tokens: &[Token]) -> Option<Found> {
    let chained = tokens
        .iter()
        .filter(|token| matches!(token.kind, Kind::Sign(sign) if !matches!(sign, b',' | b'(' | b')' | b'.')));
    let words = tokens.iter().filter(|token| {
        token.kind == Kind::Word
            && text.get(token.start..token.end).is_some_and(|word| {
                ["and", "or", "union", "except", "intersect", "is", "in", "like", "not", "collate", "at"]
                    .iter()
                    .any(|joint| word.eq_ignore_ascii_case(joint))
            })
    });
    if tokens.len() > TOKENS || chained.count() + words.count() > OPERATORS {
        return None;
    }
    let (first, last) = (tokens.first()?, tokens.last()?);
    let statement = text.get(first.start..last.end)?;
    let likeliest = likeliest_dialect(text, tokens);
    let all: [(Guess, &dyn Dialect); 10] = [
        (Guess::Generic, &GenericDialect {}),
        (Guess::Postgres, &PostgreSqlDialect {}),
        (Guess::Mysql, &MySqlDialect {}),
        (Guess::Mssql, &MsSqlDialect {}),
        (Guess::Other, &SQLiteDialect {}),
        (Guess::Other, &SnowflakeDialect {}),
        (Guess::Other, &BigQueryDialect {}),
        (Guess::Other, &OracleDialect {}),
        (Guess::Other, &DuckDbDialect {}),
        (Guess::Other, &ClickHouseDialect {}),
    ];
    let ordered = all
        .iter()
        .filter(|(guess, _)| *guess == likeliest)
        .chain(all.iter().filter(|(guess, _)| *guess != likeliest));
    let tries = if tokens.len() > TOKENS_IN_ANY_DIALECT { 4 } else { all.len() };
    for (_, dialect) in ordered.take(tries) {
        let parsed = Parser::new(*dialect)
            .with_recursion_limit(RECURSION)
            .try_with_sql(statement)
            .and_then(|mut parser| parser.parse_statements());
        match parsed {
            Ok(statements) => {
                let mut found = Found::default();
                let _ = statements.visit(&mut found);
                return Some(found);
            }
            Err(sqlparser::parser::ParserError::RecursionLimitExceeded) => return None,
            Err(_) => {}
        }
    }
    None
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Guess {
    Generic,
    Postgres,
    Mysql,
    Mssql,
    Other,
}

fn likeliest_dialect(text: &str, tokens: &[Token]) -> Guess {
    let mut previous = 0u8;
    for token in tokens {
        let first = text.as_bytes().get(token.start).copied().unwrap_or(0);
        match (token.kind, first) {
            (Kind::Name, b'`') => return Guess::Mysql,
            (Kind::Name, b'[') | (Kind::Word, b'@' | b'#') => return Guess::Mssql,
            (Kind::Sign(b':'), _) if previous == b':' => return Guess::Postgres,
            _ => {}
        }
        previous = first;
    }
    Guess::Generic
}

fn name_of(name: &ObjectName) -> String {
    name.to_string()
}

impl Visitor for Found {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        let found = match statement {
            Statement::Insert(insert) => {
                let replaces =
                    insert.replace_into || insert.overwrite || insert.or == Some(SqliteOnConflict::Replace);
                let table = match &insert.table {
                    TableObject::TableName(name) => name.to_string(),
                    other => other.to_string(),
                };
                (if replaces { "replace" } else { "insert" }, Vec::new(), vec![table])
            }
            Statement::Update(update) => {
                let joined = update.from.is_some() || !update.table.joins.is_empty();
                let traits = row_traits(update.selection.as_ref(), joined, update.limit.is_some());
                ("update", traits, vec![update.table.relation.to_string()])
            }
            Statement::Delete(delete) => {
                let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &delete.from;
                let joined = delete.using.is_some() || tables.iter().any(|table| !table.joins.is_empty());
                let traits = row_traits(delete.selection.as_ref(), joined, delete.limit.is_some());
                ("delete", traits, tables.iter().map(|table| table.relation.to_string()).collect())
            }
            Statement::Merge(merge) => ("merge", Vec::new(), vec![merge.table.to_string()]),
            Statement::Query(_) => ("select", Vec::new(), Vec::new()),
            // Everything else is known by its words.
            _ => return ControlFlow::Continue(()),
        };
        self.statements.push(found);
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if !query.locks.is_empty() {
            self.statements.push(("select", vec!["for_update"], Vec::new()));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if let Some(into) = &select.into {
            self.statements.push(("select", vec!["into"], vec![into.to_string()]));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        self.relations.push(name_of(relation));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } => {
                self.functions.push(name_of(name));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr {
            self.functions.push(name_of(&function.name));
        }
        ControlFlow::Continue(())
    }
}

/// How many rows a change touches.
fn row_traits(condition: Option<&Expr>, joined: bool, limited: bool) -> Vec<&'static str> {
    match condition {
        None if joined || limited => vec!["bounded"],
        None => vec!["unbounded"],
        Some(_) if limited => vec!["bounded"],
        Some(condition) if is_always_true(condition) => vec!["unbounded", "always_true"],
        Some(condition) if is_broad(condition) => vec!["broad"],
        Some(_) => vec!["bounded"],
    }
}
