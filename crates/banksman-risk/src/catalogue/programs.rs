//! What is known of programs: how their arguments are to be read.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::OptionStyle;
use super::on_demand::{OnDemand, Packed};
use super::rule::ProgramSpec;

/// A program that nothing is known of: read as GNU would.
pub(super) static UNKNOWN: ProgramSpec = ProgramSpec {
    values: Vec::new(),
    subcommands: 0,
    style: OptionStyle::Gnu,
    operands: None,
    skip: 0,
    reads: Vec::new(),
    writes: Vec::new(),
    commands: Vec::new(),
    options_first: false,
    help: Vec::new(),
    like: None,
};

/// What is found by a name. A quick hash will do: names are put in by rules only, and whoever asks for one puts none in.
pub(super) type ByName<T> = HashMap<Cow<'static, str>, T, foldhash::fast::FixedState>;

/// Every program that is described, with its subcommands.
#[derive(Debug, Clone, Default)]
pub(super) struct Programs {
    by_name: ByName<OnDemand<Program>>,
}

#[derive(Debug, Clone, Default)]
struct Program {
    spec: ProgramSpec,
    /// By the words after the program: `stash`, `container run`.
    subcommands: ByName<ProgramSpec>,
}

/// A program that is described in a way that cannot be: its name, and what is wrong.
pub(super) struct Misdescribed(pub(super) String, pub(super) String);

impl Programs {
    pub(super) fn of(described: BTreeMap<String, ProgramSpec>) -> Result<Self, Misdescribed> {
        let mut by_name: ByName<Program> = ByName::default();
        let mut alike = Vec::new();
        for (name, spec) in described {
            match name.split_once(' ') {
                None if spec.like.is_some() => alike.push((name, spec)),
                None => by_name.entry(owned(&name)).or_default().spec = spec,
                Some((program, words)) => {
                    let program = by_name.entry(owned(program)).or_default();
                    program.subcommands.insert(words.to_owned().into(), spec);
                }
            }
        }
        by_name.values_mut().for_each(Program::pass_on);
        for (name, spec) in alike {
            let other = spec.like.unwrap_or_default();
            let Some(program) = by_name.get(&*canonical(&other)).cloned() else {
                return Err(Misdescribed(name, format!("is like {other:?}, which is not described itself")));
            };
            by_name.insert(owned(&name), program);
        }
        Ok(Self { by_name: by_name.into_iter().map(|(name, program)| (name, program.into())).collect() })
    }

    /// The same of what the build wrote down, in which the lines of one program follow each other. Nothing, if that is not
    /// what it is.
    pub(super) fn packed(lines: &'static str) -> Option<Self> {
        let mut by_name = ByName::default();
        let mut alike = Vec::new();
        let mut rest = lines;
        while !rest.is_empty() {
            let (name, _, like) = columns(rest)?;
            let name = name.split(' ').next()?;
            let of_this = |line: &&str| line.split(['\t', ' ']).next() == Some(name);
            let length = rest.split_inclusive('\n').take_while(of_this).map(str::len).sum();
            let (block, others) = rest.split_at_checked(length)?;
            rest = others;
            if like.is_empty() {
                by_name.insert(canonical(name), OnDemand::packed(block));
            } else {
                alike.push((name, like));
            }
        }
        for (name, like) in alike {
            let program = by_name.get(&*canonical(like))?.clone();
            by_name.insert(canonical(name), program);
        }
        Some(Self { by_name })
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> (usize, usize) {
        (self.by_name.len(), self.by_name.values().map(|program| program.get().subcommands.len()).sum())
    }

    /// What is known of a program, or of a subcommand (`git commit`).
    pub(super) fn get(&self, name: &str) -> Option<&ProgramSpec> {
        match name.split_once(' ') {
            None => self.by_name.get(&*canonical(name)).map(|program| &program.get().spec),
            Some((program, words)) => self.by_name.get(&*canonical(program))?.get().subcommands.get(words),
        }
    }

    /// What is known of a program, and a way to ask for its subcommands.
    pub(super) fn find<'p>(
        &'p self,
        name: &str,
    ) -> (&'p ProgramSpec, impl Fn(&[&str]) -> Option<&'p ProgramSpec> + use<'p>) {
        let program = self.by_name.get(&*canonical(name)).map(OnDemand::get);
        let subcommand = move |words: &[&str]| {
            let known = &program?.subcommands;
            match words {
                [] => None,
                [word] => known.get(*word),
                several => known.get(several.join(" ").as_str()),
            }
        };
        (program.map_or(&UNKNOWN, |program| &program.spec), subcommand)
    }
}

impl Program {
    fn pass_on(&mut self) {
        self.subcommands.values_mut().for_each(|spec| spec.inherit(&self.spec));
    }
}

impl Packed for Program {
    fn unpack(block: &'static str) -> Option<Self> {
        let mut program = Self::default();
        for line in block.lines() {
            let (name, spec, _) = columns(line)?;
            let spec = serde_json::from_str(spec).ok()?;
            match name.split_once(' ') {
                None => program.spec = spec,
                Some((_, words)) => {
                    program.subcommands.insert(words.into(), spec);
                }
            }
        }
        program.pass_on();
        Some(program)
    }

    /// As one that nothing is known of.
    fn unreadable() -> Self {
        Self::default()
    }
}

/// The name of the first line, what is known of it, and which other program it is like.
fn columns(lines: &'static str) -> Option<(&'static str, &'static str, &'static str)> {
    let mut columns = lines.lines().next()?.split('\t');
    Some((columns.next()?, columns.next()?, columns.next()?))
}

fn owned(name: &str) -> Cow<'static, str> {
    canonical(name).into_owned().into()
}

impl ProgramSpec {
    /// A subcommand spells options as its program does, unless it says otherwise.
    fn inherit(&mut self, program: &Self) {
        if self.style == OptionStyle::default() {
            self.style = program.style;
        }
        if self.help.is_empty() {
            self.help.clone_from(&program.help);
        }
    }
}

/// The name by which a program is known: `GIT.EXE` runs `git` wherever file names have no case.
pub(super) fn canonical(name: &str) -> Cow<'_, str> {
    let stem = match name.len().checked_sub(4).and_then(|at| name.split_at_checked(at)) {
        Some((stem, ending)) if ending.eq_ignore_ascii_case(".exe") => stem,
        _ => name,
    };
    if stem.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(stem.to_ascii_lowercase())
    } else {
        Cow::Borrowed(stem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(text: &str) -> Result<Programs, String> {
        let described: BTreeMap<String, ProgramSpec> = serde_saphyr::from_str(text).unwrap();
        Programs::of(described).map_err(|Misdescribed(name, problem)| format!("{name} {problem}"))
    }

    #[test]
    fn names_have_no_case_and_no_ending() {
        for (given, known) in
            [("git", "git"), ("GIT.EXE", "git"), ("Git.exe", "git"), (".exe", ""), ("é", "é")]
        {
            assert_eq!(canonical(given), known);
        }
    }

    #[test]
    fn subcommands_inherit_how_options_are_spelled() {
        let programs = programs("{tf: {style: words, help: [-help]}, tf state: {values: [-x]}}").unwrap();
        let state = programs.get("tf state").unwrap();
        assert_eq!((state.style, state.help.len(), state.values.len()), (OptionStyle::Words, 1, 1));
    }

    #[test]
    fn a_program_like_another_has_its_subcommands() {
        let programs =
            programs("{docker: {subcommands: 1}, docker run: {values: [-v]}, podman: {like: docker}}")
                .unwrap();
        assert_eq!(programs.get("podman run").unwrap().values, ["-v"]);
    }

    #[test]
    fn a_program_cannot_be_like_one_that_is_not_described() {
        let problem = programs("{a: {like: b}, b: {like: c}}").unwrap_err();
        assert!(problem.contains("is not described itself"), "{problem}");
    }
}
