//! What the functions of JavaScript's libraries do.

use std::sync::LazyLock;

use super::expressions::TEMPLATE;
use crate::code::effect::Arg::{At, Receiver};
use crate::code::effect::Effect::{Code, Path, Prints, Program, ProgramWith, Sends, Shell, Sql, Url, Writes};
use crate::code::effect::{Entry, Table, entry, table};
use crate::code::value::Taint;
use crate::fact::Access::{Delete, DeleteTree, Execute, Permissions, Read, Truncate, Write};
use crate::fact::Direction::{Connect, Fetch, Send};

static TABLE: LazyLock<Table> = LazyLock::new(|| table(&[FILES, PROGRAMS, NETWORK, DATA]));

/// What a function does.
pub(super) fn entry_of(name: &str) -> Option<&'static Entry> {
    TABLE.get(name).copied()
}

/// No argument has this position.
const NAMED: usize = usize::MAX;

const FILES: &[Entry] = &[
    entry(&["fs.unlink", "trash", "Bun.file.delete", "Bun.file.unlink"], &[Path(Delete, At(0, "path"))]),
    entry(
        &["fs.remove", "fs.emptyDir", "rimraf", "rimraf.rimraf", "rimraf.native", "del", "del.deleteAsync"],
        &[Path(DeleteTree, At(0, "path"))],
    ),
    entry(&["del.delete", "shelljs.rm"], &[Path(DeleteTree, At(0, "path"))]),
    entry(
        &[
            "fs.writeFile",
            "fs.outputFile",
            "fs.appendFile",
            "fs.createWriteStream",
            "fs.writeJson",
            "fs.outputJson",
            "fs.writeJSON",
        ],
        &[Path(Write, At(0, "path"))],
    ),
    entry(
        &["fs.mkdir", "fs.mkdirp", "fs.ensureDir", "fs.ensureFile", "Deno.mkdir"],
        &[Path(Write, At(0, "path"))],
    ),
    entry(
        &["Deno.writeTextFile", "Deno.writeFile", "Deno.create", "Bun.write"],
        &[Path(Write, At(0, "path"))],
    ),
    entry(&["fs.truncate", "Deno.truncate"], &[Path(Truncate, At(0, "path"))]),
    entry(
        &["fs.chmod", "fs.chown", "fs.lchown", "fs.lchmod", "Deno.chmod", "Deno.chown"],
        &[Path(Permissions, At(0, "path"))],
    ),
    entry(&["fs.rename", "fs.move", "Deno.rename"], &[Path(Delete, At(0, "from")), Path(Write, At(1, "to"))]),
    entry(
        &["fs.copyFile", "fs.cp", "fs.copy", "Deno.copyFile", "fs.symlink", "fs.link", "Deno.symlink"],
        &[Path(Read, At(0, "from")), Path(Write, At(1, "to"))],
    ),
    entry(
        &[
            "fs.readFile",
            "fs.createReadStream",
            "fs.readJson",
            "fs.readJSON",
            "Deno.readTextFile",
            "Deno.readFile",
            "Bun.file",
        ],
        &[Path(Read, At(0, "path"))],
    )
    .gives(Taint::FILE),
    entry(&["fs.createWriteStream.write", "fs.createWriteStream.end"], &[Writes]),
    entry(&["shelljs.mv"], &[Path(Delete, At(0, "from")), Path(Write, At(1, "to"))]),
];

const PROGRAMS: &[Entry] = &[
    entry(
        &["child_process.exec", "shelljs.exec", "execa.command", "execa.execaCommand", "execa.$"],
        &[Shell(At(0, "command"))],
    ),
    entry(&["ssh2.Client.exec", "node-ssh.NodeSSH.execCommand", "_.execCommand"], &[Shell(At(0, "command"))]),
    entry(
        &["child_process.execFile", "execa", "execa.execa", "Deno.spawn"],
        &[ProgramWith(At(0, "file"), At(1, "args"))],
    ),
    entry(&["child_process.fork"], &[Path(Execute, At(0, "path"))]),
    entry(&["Deno.run"], &[Program(At(NAMED, "cmd"))]),
    entry(&["Deno.Command"], &[ProgramWith(At(0, "command"), At(NAMED, "args"))]),
    entry(&["Bun.spawn", "Bun.spawnSync"], &[Program(At(0, "cmd"))]),
    entry(&["$", "Bun.$", "zx.$", "execa.$"], &[Shell(At(NAMED, TEMPLATE))]),
    entry(
        &[
            "vm.runInNewContext",
            "vm.runInThisContext",
            "vm.runInContext",
            "vm.Script",
            "vm.compileFunction",
            "eval",
            "execScript",
        ],
        &[Code(At(0, "code"))],
    ),
];

const NETWORK: &[Entry] = &[
    entry(
        &[
            "axios.get",
            "got",
            "got.get",
            "http.get",
            "superagent.get",
            "request.get",
            "ky.get",
            "ky",
            "needle.get",
            "$.get",
            "$.getJSON",
            "$.getScript",
            "EventSource",
            "importScripts",
            "undici.request",
        ],
        &[Url(Fetch, Some("GET"), At(0, "url"))],
    ),
    entry(
        &[
            "axios.post",
            "got.post",
            "superagent.post",
            "request.post",
            "ky.post",
            "needle.post",
            "$.post",
            "navigator.sendBeacon",
        ],
        &[Url(Send, Some("POST"), At(0, "url"))],
    ),
    entry(
        &["axios.put", "got.put", "superagent.put", "request.put", "ky.put"],
        &[Url(Send, Some("PUT"), At(0, "url"))],
    ),
    entry(
        &["axios.patch", "got.patch", "superagent.patch", "ky.patch"],
        &[Url(Send, Some("PATCH"), At(0, "url"))],
    ),
    entry(
        &["axios.delete", "got.delete", "superagent.delete", "ky.delete"],
        &[Url(Send, Some("DELETE"), At(0, "url"))],
    ),
    entry(&["WebSocket", "io", "socket.io-client", "io.connect"], &[Url(Connect, None, At(0, "url"))])
        .gives(Taint::NETWORK),
    entry(
        &[
            "WebSocket.send",
            "net.Socket.write",
            "net.Socket.send",
            "net.connect.write",
            "XMLHttpRequest.send",
            "http.request.write",
            "http.request.end",
        ],
        &[Sends],
    ),
    entry(
        &["globalThis.location=", "location.href=", "window.location.href=", "location="],
        &[Url(Fetch, Some("GET"), At(0, "url")), Sends],
    ),
    entry(&["location.assign", "location.replace"], &[Url(Fetch, Some("GET"), At(0, "url")), Sends]),
    entry(&["Image.src=", "_.src="], &[Url(Fetch, Some("GET"), At(0, "url")), Sends]),
];

const DATA: &[Entry] = &[
    entry(
        &[
            "console.log",
            "console.info",
            "console.error",
            "console.warn",
            "console.dir",
            "console.table",
            "process.stdout.write",
        ],
        &[Prints],
    ),
    entry(&["sql", "postgres"], &[Sql(At(NAMED, TEMPLATE))]),
    entry(&["_.sql", "prisma.$executeRaw", "prisma.$queryRaw"], &[Sql(At(NAMED, TEMPLATE))]),
    entry(&["_.unlink", "_.unlinkSync"], &[Path(Delete, At(0, "path"))]),
    entry(&["Bun.file.write"], &[Path(Write, Receiver), Writes]),
];
