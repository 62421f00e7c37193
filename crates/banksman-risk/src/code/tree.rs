//! What Python and JavaScript have in common, as a tree.

use std::rc::Rc;

use banksman_core::Span;

/// A name of a variable, an attribute, a module.
pub(crate) type Name = Rc<str>;

/// An expression and where it stands in the outermost text.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) expr: Expr,
}

/// An expression.
#[derive(Debug)]
pub(crate) enum Expr {
    /// A text, or bytes that are read as one.
    Text(Rc<str>),
    Number(i64),
    Flag(bool),
    /// `None`, `null`, `undefined`.
    Nothing,
    Name(Name),
    Member(Box<Node>, Name),
    Index(Box<Node>, Box<Node>),
    /// `value[start:end:step]`, the bounds where they are given.
    Slice(Box<Node>, Vec<Option<Node>>),
    Call(Box<Call>),
    /// An f-string or a template: the parts, joined as text.
    Join(Vec<Node>),
    /// `a + b + c`.
    Add(Vec<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    /// A list, tuple, set or array.
    List(Vec<Node>),
    /// `*x` or `...x` inside a list.
    Spread(Box<Node>),
    /// A dictionary or object; without a key, another map is spread into it.
    Map(Vec<(Option<Node>, Node)>),
    /// One of these: `a or b`, `a if c else b`.
    Either(Vec<Node>),
    /// All of these, for the value of the last: `(a, b)` in JavaScript.
    Sequence(Vec<Node>),
    Function(Rc<Function>),
    Class(Rc<Class>),
    Comprehension(Box<Comprehension>),
    Assign(Box<Target>, Box<Node>),
    /// One of what a generator gives.
    Yield(Box<Node>),
    /// Nothing is known of its value, but these parts of it happen.
    Opaque(Vec<Node>),
}

/// What two values are combined by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// `%`: also Python's text formatting.
    Remainder,
    Xor,
    Other,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) function: Node,
    pub(crate) args: Vec<Argument>,
}

#[derive(Debug)]
pub(crate) enum Argument {
    Plain(Node),
    Named(Name, Node),
    /// `*list`, `...list`.
    Spread(Node),
    /// `**map`.
    SpreadMap(Node),
}

/// `[element for target in source if condition]`, also for maps, sets and generators.
#[derive(Debug)]
pub(crate) struct Comprehension {
    pub(crate) clauses: Vec<(Target, Node)>,
    pub(crate) conditions: Vec<Node>,
    pub(crate) element: Node,
}

/// What can be assigned to.
#[derive(Debug)]
pub(crate) enum Target {
    Name(Name),
    Member(Node, Name),
    Index(Node, Node),
    List(Vec<Target>),
    /// `{a, b: c}` in JavaScript.
    Map(Vec<(Name, Target)>),
    /// `*rest`, `...rest`.
    Rest(Box<Target>),
    /// With a value for when there is none.
    Default(Box<Target>, Node),
    Nowhere,
}

#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Vec<Statement>,
    /// The value of a lambda or arrow function.
    pub(crate) result: Option<Node>,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) target: Target,
    pub(crate) default: Option<Node>,
    pub(crate) takes: Takes,
}

/// Which arguments a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    One,
    /// `*args`
    RestOfList,
    /// `**kwargs`
    RestOfNamed,
}

#[derive(Debug)]
pub(crate) struct Class {
    pub(crate) name: Name,
    pub(crate) bases: Vec<Node>,
    pub(crate) body: Vec<Statement>,
}

#[derive(Debug)]
pub(crate) enum Statement {
    Evaluate(Node),
    /// In JavaScript, an assignment without a declaration reaches for the variable of an outer function.
    Assign {
        target: Target,
        value: Node,
        declares: bool,
    },
    Augment(Target, Operator, Node),
    /// Local names for modules or what is in them.
    Import(Vec<(Name, Name)>),
    /// Everything in a module becomes a name of its own.
    ImportAll(Name),
    /// Everything in an object is a name of its own, for these statements.
    Within(Node, Vec<Statement>),
    Define {
        name: Name,
        function: Rc<Function>,
        decorators: Vec<Node>,
    },
    Class(Rc<Class>),
    /// Each of these may run or not.
    Branches(Vec<Vec<Statement>>),
    Loop(Box<Loop>),
    Return(Option<Node>),
    Block(Vec<Statement>),
    /// Names that belong to an outer scope (`global`, `nonlocal`).
    Outer(Vec<Name>),
    /// A shell command in a notebook.
    Shell(Rc<str>, Span),
}

#[derive(Debug)]
pub(crate) struct Loop {
    /// What is gone through, and what each of it is called.
    pub(crate) each: Option<(Target, Node)>,
    pub(crate) test: Option<Node>,
    /// The test is always true and nothing in the body leaves the loop.
    pub(crate) endless: bool,
    pub(crate) body: Vec<Statement>,
}
