//! `banksman policy init`: a policy to start from, with its test cases.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use banksman_policy::{Document, Template};

use super::schema::schema_text;
use crate::context::Context;
use crate::display::Visible;
use crate::exit::{Exit, stop};
use crate::table::{Cell, Column, Table, TooWide};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Which one: coding-agent, support-desk, finance, read-only, ci-lockdown
    #[arg(long, value_name = "NAME", default_value = "coding-agent")]
    template: String,
    /// Where to write it; its cases go beside it, as FILE.test.yaml
    #[arg(long, short, value_name = "FILE", default_value = "policy.yaml")]
    output: PathBuf,
    /// Write over files that are there
    #[arg(long)]
    force: bool,
    /// Also write the JSON Schemas beside it, so that editors complete and check it
    #[arg(long)]
    editor: bool,
    /// List the templates
    #[arg(long)]
    list: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    if args.list {
        return list(context);
    }
    let template = Template::named(&args.template).ok_or_else(|| {
        let names = Template::ALL.map(|template| template.name).join(", ");
        stop(Exit::Usage, format!("there is no template {:?}: there are {names}", args.template))
    })?;
    let files = files(&template, args)?;
    // All or nothing: half of a template would be a surprise.
    if let Some((taken, _)) = files.iter().find(|(path, _)| path.exists()).filter(|_| !args.force) {
        let problem = format!("{} is there already: name another --output, or use --force", taken.display());
        return Err(stop(Exit::Refused, problem));
    }
    for (path, text) in &files {
        write(path, text, args.force).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if context.globals.json {
        let written: Vec<&PathBuf> = files.iter().map(|(path, _)| path).collect();
        context.print_json(&serde_json::json!({"template": template.name, "written": written}))?;
    } else {
        for (path, _) in &files {
            context.print(&format!("wrote {}\n", Visible(&path.display().to_string())))?;
        }
        let policy = args.output.display().to_string();
        let policy = Visible(&policy);
        context.print(&format!(
            "Name your own tools in it, then:\n  banksman policy test --policy {policy}\n  banksman serve --policy {policy}\n"
        ))?;
    }
    Ok(Exit::Done.into())
}

fn files(template: &Template, args: &Args) -> anyhow::Result<Vec<(PathBuf, String)>> {
    let documents = [
        (Document::Policy, args.output.clone(), template.policy),
        (Document::Cases, args.output.with_extension("test.yaml"), template.cases),
    ];
    let mut files = Vec::new();
    for (document, path, text) in documents {
        if args.editor {
            let schema = document.schema_file();
            files.push((path.clone(), format!("# yaml-language-server: $schema={schema}\n{text}")));
            files.push((path.with_file_name(schema), schema_text(document)?));
        } else {
            files.push((path, text.to_owned()));
        }
    }
    Ok(files)
}

/// Looking first and writing then would let someone in between; so the file system is asked to decide.
fn write(path: &Path, text: &str, force: bool) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    options.open(path)?.write_all(text.as_bytes())
}

fn list(context: &Context) -> anyhow::Result<ExitCode> {
    if context.globals.json {
        let all = Template::ALL
            .map(|template| serde_json::json!({"name": template.name, "summary": template.summary}));
        context.print_json(&all)?;
    } else {
        let mut table = Table::new(vec![
            Column { heading: "TEMPLATE", most: 20 },
            Column { heading: "WHAT IT SAYS", most: 100 },
        ]);
        for template in Template::ALL {
            table.row(vec![Cell::new(template.name), Cell::new(template.summary)]);
        }
        context.print(&table.render(context.screen, TooWide::GoOn))?;
    }
    Ok(Exit::Done.into())
}
