//! One reading of one action: what was found so far, and how much may still be read.

use banksman_core::{Assessment, Finding, Kind, Risk, Span};

use crate::catalogue::{Catalogue, RuleIndex};
use crate::fact::{Access, Fact};
use crate::limits::Limits;
use crate::origin::Origin;
use crate::path::{Place, Places, project_folder, within_project};
use crate::{javascript, python, shell, sql};

/// One reading of one action. Analysers state facts into it and hand it code in other languages.
pub(crate) struct Inspection<'c> {
    catalogue: &'c Catalogue,
    limits: Limits,
    work_left: u32,
    exhausted: bool,
    depth: u8,
    argument: Option<String>,
    hits: Vec<Hit>,
    resources: Vec<String>,
    secrets_read: u32,
    /// Whether what is read may be something else than code: only what would be grave counts.
    suspecting: bool,
    /// The working folder, if it is a project's although it lies among the system's own.
    project: Option<String>,
    /// Commands inside commands that are being walked through, over all texts: bounds the stack.
    pub(crate) nesting: u16,
}

struct Hit {
    rule: RuleIndex,
    level: Risk,
    argument: Option<String>,
    span: Option<Span>,
}

impl<'c> Inspection<'c> {
    pub(crate) fn new(catalogue: &'c Catalogue, limits: Limits) -> Self {
        Self {
            catalogue,
            limits,
            work_left: limits.work,
            exhausted: false,
            depth: 0,
            argument: None,
            hits: Vec::new(),
            resources: Vec::new(),
            secrets_read: 0,
            suspecting: false,
            project: None,
            nesting: 0,
        }
    }

    pub(crate) fn catalogue(&self) -> &'c Catalogue {
        self.catalogue
    }

    /// The action works in this folder.
    pub(crate) fn work_in(&mut self, folder: &str) {
        self.project = project_folder(folder);
    }

    /// From now on, findings are about this argument (a JSON pointer).
    pub(crate) fn enter_argument(&mut self, pointer: Option<String>) {
        self.argument = pointer;
    }

    /// Something would happen: the catalogue says what to think of it.
    pub(crate) fn state(&mut self, fact: &Fact<'_>, span: Span) {
        if let Fact::Path(path) = fact
            && path.access == Access::Read
            && Places::of(&path.path.text, path.base.as_deref()).has(Place::Secret)
        {
            self.secrets_read = self.secrets_read.saturating_add(1);
        }
        self.judge(fact, span, if self.suspecting { Risk::High } else { Risk::None });
    }

    /// Something that may happen: it only counts if it would be grave.
    pub(crate) fn suspect(&mut self, fact: &Fact<'_>, span: Span) {
        self.judge(fact, span, Risk::High);
    }

    /// Asks the catalogue, as far as work is left; asking is most of the work in texts that do much.
    fn judge(&mut self, fact: &Fact<'_>, span: Span, least: Risk) {
        if self.work_left == 0 {
            return self.exhaust(span);
        }
        let catalogue = self.catalogue;
        let within = self.project.as_deref().and_then(|project| within_project(fact, project));
        let steps = catalogue.judge(within.as_ref().unwrap_or(fact), &mut |rule| {
            if catalogue.rule(rule).level >= least {
                self.hit(rule, Some(span));
            }
        });
        self.work_left = self.work_left.saturating_sub(steps);
    }

    /// Nothing more is read, which makes the action high.
    fn exhaust(&mut self, span: Span) {
        self.work_left = 0;
        if !std::mem::replace(&mut self.exhausted, true) {
            let catalogue = self.catalogue;
            catalogue.judge(&Fact::Signal("too_much_work", span), &mut |rule| self.hit(rule, Some(span)));
        }
    }

    /// A signal at a place.
    pub(crate) fn signal(&mut self, name: &'static str, span: Span) {
        self.state(&Fact::Signal(name, span), span);
    }

    /// Something that it touches, such as `file:/etc/passwd`.
    pub(crate) fn touch(&mut self, scheme: &str, name: &str) {
        const KEPT: usize = 64;
        if self.suspecting {
            return;
        }
        let resource = format!("{scheme}:{name}");
        if self.resources.len() < KEPT && !self.resources.contains(&resource) {
            self.resources.push(resource);
        }
    }

    /// Takes steps from what may still be done. `false`: no more; the action is high, and reading should end.
    pub(crate) fn spend(&mut self, steps: u32, at: Span) -> bool {
        match self.work_left.checked_sub(steps) {
            Some(left) => {
                self.work_left = left;
                true
            }
            None => {
                self.exhaust(at);
                false
            }
        }
    }

    /// Reads code in a language, inside of what is read already or at the outset.
    pub(crate) fn read(&mut self, kind: Code, text: &str, origin: Origin) {
        if !self.enter(text, origin) {
            return;
        }
        match kind {
            Code::Shell => shell::inspect(self, text, origin),
            Code::Python => python::inspect(self, text, origin),
            Code::Javascript => javascript::inspect(self, text, origin),
            Code::Sql => sql::inspect(self, text, origin),
        }
        self.leave();
    }

    /// Reads a text that may be code, or may be anything else: it only counts if it would be grave.
    pub(crate) fn read_suspected(&mut self, kind: Code, text: &str, origin: Origin) {
        let before = std::mem::replace(&mut self.suspecting, true);
        self.read(kind, text, origin);
        self.suspecting = before;
    }

    /// Goes into a text, if it may still be read; otherwise the action is high. Whoever goes in has to
    /// [`leave`](Self::leave).
    pub(crate) fn enter(&mut self, text: &str, origin: Origin) -> bool {
        let span = origin.span(0..text.len());
        if text.len() > self.limits.input {
            self.signal("input_too_long", span);
            return false;
        }
        if self.depth >= self.limits.depth {
            self.signal("too_deep", span);
            return false;
        }
        if !self.spend(parsing(text), span) {
            return false;
        }
        self.depth += 1;
        true
    }

    /// Comes out of a text.
    pub(crate) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Whether anything may still be read.
    pub(crate) fn has_work_left(&self) -> bool {
        self.work_left > 0
    }

    /// How often a file that holds secrets was read so far.
    pub(crate) fn secrets_read(&self) -> u32 {
        self.secrets_read
    }

    fn hit(&mut self, rule: RuleIndex, span: Option<Span>) {
        let level = self.catalogue.rule(rule).level;
        if self.hits.iter().any(|hit| hit.rule == rule && hit.span == span && hit.argument == self.argument) {
            return;
        }
        if self.hits.len() >= self.limits.findings {
            // Full: a worse one takes the place of a lesser one, so the level never depends on the order.
            if let Some(lesser) = self.hits.iter_mut().find(|hit| hit.level < level) {
                *lesser = Hit { rule, level, argument: self.argument.clone(), span };
            }
            return;
        }
        self.hits.push(Hit { rule, level, argument: self.argument.clone(), span });
    }

    /// What was found, the worst first.
    pub(crate) fn conclude(mut self) -> Assessment {
        self.hits.sort_by(|a, b| b.level.cmp(&a.level).then(a.span.cmp(&b.span)));
        let mut recommendations: Vec<String> = Vec::new();
        let mut reversible = true;
        let mut findings = Vec::with_capacity(self.hits.len());
        let mut impact = None;
        for hit in self.hits {
            let rule = self.catalogue.rule(hit.rule);
            reversible &= rule.reversible;
            if let Some(advice) = &rule.advice
                && !recommendations.contains(advice)
            {
                recommendations.push(advice.clone());
            }
            if impact.is_none() && rule.level > Risk::None {
                impact = Some(describe_impact(rule.level, rule.reversible, &rule.reason));
            }
            findings.push(Finding {
                rule: rule.id.clone(),
                level: rule.level,
                reason: rule.reason.clone(),
                argument: hit.argument,
                span: hit.span,
            });
        }
        Assessment {
            resources: self.resources,
            reversible,
            impact,
            recommendations,
            ..Assessment::of(findings)
        }
    }
}

/// The steps that parsing a text takes; dense code takes twice as long as most.
pub(crate) fn parsing(text: &str) -> u32 {
    1 + steps(text.len())
}

/// So many steps, or as many as there can be.
pub(crate) fn steps(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// What could happen, in one line.
fn describe_impact(level: Risk, reversible: bool, reason: &str) -> String {
    let weight = match level {
        Risk::None => "None",
        Risk::Low => "Little",
        Risk::Medium => "A change that a person should know of",
        Risk::High => "Serious",
        Risk::Critical => "Grave",
    };
    // That nothing was found is no promise.
    let undo = if reversible { "" } else { ", cannot be undone" };
    format!("{weight}{undo}: {reason}")
}

/// A language that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    Shell,
    Python,
    Javascript,
    Sql,
}

impl Code {
    /// The language of a kind of action, if its text is code.
    pub(crate) fn of(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Shell => Some(Self::Shell),
            Kind::Python => Some(Self::Python),
            Kind::Javascript => Some(Self::Javascript),
            Kind::Sql => Some(Self::Sql),
            Kind::Tool | Kind::Http | Kind::File => None,
        }
    }
}
