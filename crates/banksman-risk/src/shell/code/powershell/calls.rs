//! What the commands and calls of PowerShell do.

use super::super::super::program::How;
use super::super::super::run::Invocation;
use super::super::super::value::{Field, HOLE, Taint, Text};
use super::grammar::Reader;
use super::{ALIASES, read_code};
use crate::origin::Origin;

impl Reader<'_, '_, '_, '_> {
    pub(super) fn method(&mut self, target: &Text, name: &str, arguments: &[Text]) -> Text {
        let taint = arguments.iter().fold(target.taint, |taint, argument| taint | argument.taint);
        match name {
            "downloadstring" | "downloaddata" | "getstringasync" | "openread" => {
                let url = arguments.first().cloned().unwrap_or_default();
                self.program("curl", vec![url], None)
            }
            "downloadfile" => match arguments {
                [url, file, ..] => {
                    self.program("curl", vec![Text::known("-o"), file.clone(), url.clone()], None)
                }
                _ => Text::unknown(Taint::DOWNLOAD),
            },
            "invoke" | "invokescript" | "addscript" => {
                for code in std::iter::once(target).chain(arguments) {
                    self.run_code(code);
                }
                Text::unknown(taint)
            }
            "delete" => {
                self.program("Remove-Item", vec![target.clone(), Text::known("-Recurse")], None);
                Text::default()
            }
            "trim" | "tostring" => target.clone(),
            _ => Text::unknown(taint),
        }
    }

    pub(super) fn static_call(&mut self, name: &str, method: &str, arguments: &[Text]) -> Text {
        let taint = arguments.iter().fold(Taint::NONE, |taint, argument| taint | argument.taint);
        match (name, method) {
            ("io.directory" | "io.file", "delete") | (_, "deletedirectory" | "deletefile") => {
                let tree = name != "io.file" && arguments.get(1).is_none_or(|second| second.text != "false");
                let flags = if tree { vec![Text::known("-Recurse")] } else { Vec::new() };
                let fields = arguments.iter().take(1).cloned().chain(flags).collect();
                self.program("Remove-Item", fields, None);
                Text::default()
            }
            ("io.file", "writealltext" | "writeallbytes" | "writealllines" | "create") => {
                let fields = arguments.iter().take(1).cloned().collect();
                self.program("Set-Content", fields, None);
                Text::default()
            }
            ("diagnostics.process", "start") => {
                self.start(arguments);
                Text::unknown(Taint::OUTPUT)
            }
            ("scriptblock" | "management.automation.scriptblock", "create") => {
                for code in arguments {
                    self.run_code(code);
                }
                Text::unknown(taint)
            }
            ("convert", "frombase64string") => match arguments {
                [only] if only.is_known() => match super::super::super::decode::base64(&only.text) {
                    Some(text) => Text { text, taint: taint | Taint::DECODED },
                    None => Text::unknown(taint | Taint::DECODED),
                },
                _ => Text::unknown(taint | Taint::DECODED),
            },
            (_, "getstring") => arguments.first().cloned().unwrap_or_default(),
            _ => Text::unknown(taint),
        }
    }

    pub(super) fn command(
        &mut self,
        name: &Text,
        arguments: Vec<Text>,
        stream: Option<&Text>,
        blocks: Option<Text>,
    ) -> Text {
        let lower = name.text.to_ascii_lowercase();
        let full = ALIASES.iter().find(|(alias, _)| *alias == lower).map_or(lower.as_str(), |(_, full)| full);
        let operand = |arguments: &[Text]| arguments.iter().find(|text| !text.text.starts_with('-')).cloned();
        match full {
            "invoke-expression" => {
                let given = arguments.into_iter().find(|text| !text.text.starts_with('-'));
                let code = given.or_else(|| stream.cloned()).unwrap_or_else(|| Text::unknown(Taint::NONE));
                self.run_code(&code);
                Text::unknown(Taint::OUTPUT)
            }
            "invoke-webrequest" | "invoke-restmethod" | "curl" | "wget" => {
                let value = |name: &str| {
                    let is = |text: &Text| {
                        text.text.len() > 2 && name.starts_with(&text.text.to_ascii_lowercase())
                    };
                    arguments.iter().position(is).and_then(|at| arguments.get(at + 1))
                };
                let Some(url) = value("-uri").cloned().or_else(|| operand(&arguments)) else {
                    return Text::unknown(Taint::DOWNLOAD);
                };
                let mut fields = vec![url];
                if let Some(file) = value("-outfile") {
                    fields.extend([Text::known("-o"), file.clone()]);
                }
                self.program("curl", fields, None)
            }
            "get-childitem" | "ls" | "dir" => {
                let folder = operand(&arguments).map_or_else(|| ".".to_owned(), |folder| folder.text);
                Text::known(format!("{}/{HOLE}", folder.trim_end_matches(['/', '\\'])))
            }
            "foreach-object" | "where-object" | "if" | "else" | "elseif" | "while" | "for" | "try"
            | "catch" | "finally" | "function" | "do" | "switch" => {
                blocks.or_else(|| stream.cloned()).unwrap_or_default()
            }
            "start-process" => {
                self.start(&arguments);
                Text::unknown(Taint::OUTPUT)
            }
            "write-output" | "write-host" | "echo" => {
                let mut whole = Text::default();
                for argument in &arguments {
                    whole.append(argument);
                    whole.text.push(' ');
                }
                whole
            }
            "remove-item" | "rm" | "del" | "rmdir" | "rd" | "erase" => {
                let mut fields = arguments.clone();
                if operand(&arguments).is_none()
                    && let Some(stream) = stream
                {
                    fields.push(stream.clone());
                }
                if full != "remove-item" {
                    self.program(&name.text, arguments, stream);
                }
                self.program("Remove-Item", fields, None)
            }
            _ => self.program(&name.text, arguments, stream),
        }
    }

    /// A program that is started with its arguments in one text or in several.
    fn start(&mut self, arguments: &[Text]) {
        let mut words =
            arguments.iter().filter(|text| !text.text.starts_with('-') || text.text.contains(' '));
        let Some(program) = words.next() else { return };
        let split = |text: &Text| {
            let taint = text.taint;
            text.text.split_whitespace().map(|word| Text { text: word.to_owned(), taint }).collect::<Vec<_>>()
        };
        let fields = words.flat_map(split).collect();
        self.program(&program.text.clone(), fields, None);
    }

    fn program(&mut self, name: &str, arguments: Vec<Text>, stream: Option<&Text>) -> Text {
        let origin = Origin::of_span(self.origin.span(0..self.code.len()));
        let field =
            |text: Text| Field { glob: text.text.contains('*'), text: text.text, taint: text.taint, origin };
        let mut fields = vec![field(Text::known(name))];
        fields.extend(arguments.into_iter().map(field));
        let span = self.origin.span(0..self.code.len());
        let stdin = stream.cloned().unwrap_or_default();
        self.runner.program(Invocation { fields, env: self.runner.scope.exported.clone(), stdin, span })
    }

    fn run_code(&mut self, code: &Text) {
        let origin = Origin::of_span(self.origin.span(0..self.code.len()));
        read_code(self.runner, code, origin, How::Argument);
    }
}
