//! What the functions of Python's libraries do.

use std::sync::LazyLock;

use crate::code::effect::Arg::{At, Receiver};
use crate::code::effect::Effect::{
    Code, Path, Prints, Program, ProgramFrom, Sends, Shell, Signal, Sql, Url, Writes,
};
use crate::code::effect::{Entry, Table, entry, table};
use crate::code::value::Taint;
use crate::fact::Access::{Delete, DeleteTree, Execute, Permissions, Read, Truncate, Write};
use crate::fact::Direction::{Connect, Fetch, Send};

static TABLE: LazyLock<Table> = LazyLock::new(|| table(&[FILES, PROGRAMS, NETWORK, DATA]));

/// What a function does.
pub(super) fn entry_of(name: &str) -> Option<&'static Entry> {
    TABLE.get(name).copied()
}

const FILES: &[Entry] = &[
    entry(&["os.remove", "os.unlink", "send2trash.send2trash"], &[Path(Delete, At(0, "path"))]),
    entry(&["os.rmdir"], &[Path(Delete, At(0, "path"))]),
    entry(&["os.removedirs"], &[Path(Delete, At(0, "name"))]),
    entry(
        &["shutil.rmtree", "distutils.dir_util.remove_tree", "fsspec.rm"],
        &[Path(DeleteTree, At(0, "path"))],
    ),
    entry(
        &["os.rename", "os.renames", "os.replace", "shutil.move"],
        &[Path(Delete, At(0, "src")), Path(Write, At(1, "dst"))],
    ),
    entry(
        &["os.chmod", "os.chown", "os.lchmod", "os.lchown", "os.chflags"],
        &[Path(Permissions, At(0, "path"))],
    ),
    entry(&["shutil.chown"], &[Path(Permissions, At(0, "path"))]),
    entry(&["os.truncate"], &[Path(Truncate, At(0, "path"))]),
    entry(&["os.symlink", "os.link"], &[Path(Read, At(0, "src")), Path(Write, At(1, "dst"))]),
    entry(&["os.mkdir", "os.mknod", "os.mkfifo"], &[Path(Write, At(0, "path"))]),
    entry(&["os.makedirs"], &[Path(Write, At(0, "name"))]),
    entry(
        &[
            "shutil.copy",
            "shutil.copy2",
            "shutil.copyfile",
            "shutil.copytree",
            "distutils.dir_util.copy_tree",
        ],
        &[Path(Read, At(0, "src")), Path(Write, At(1, "dst"))],
    ),
    entry(&["shutil.make_archive"], &[Path(Write, At(0, "base_name")), Path(Read, At(2, "root_dir"))]),
    entry(&["shutil.unpack_archive"], &[Path(Read, At(0, "filename")), Path(Write, At(1, "extract_dir"))]),
    entry(&["linecache.getlines", "linecache.getline", "fileinput.input"], &[Path(Read, At(0, "filename"))])
        .gives(Taint::FILE),
    entry(&["numpy.fromfile", "numpy.loadtxt", "numpy.load"], &[Path(Read, At(0, "file"))])
        .gives(Taint::FILE),
    entry(&["pandas.read_csv", "pandas.read_excel", "pandas.read_json"], &[Path(Read, At(0, "path"))])
        .gives(Taint::FILE),
    entry(&["pathlib.Path.unlink", "_.unlink"], &[Path(Delete, Receiver)]),
    entry(&["pathlib.Path.rmdir", "_.rmdir"], &[Path(Delete, Receiver)]),
    entry(&["pathlib.Path.rmtree", "_.rmtree"], &[Path(DeleteTree, Receiver)]),
    entry(&["pathlib.Path.touch", "pathlib.Path.mkdir"], &[Path(Write, Receiver)]),
    entry(
        &["pathlib.Path.write_text", "pathlib.Path.write_bytes", "_.write_text", "_.write_bytes"],
        &[Path(Write, Receiver), Writes],
    ),
    entry(&["pathlib.Path.read_text", "pathlib.Path.read_bytes"], &[Path(Read, Receiver)]).gives(Taint::FILE),
    entry(&["pathlib.Path.chmod", "pathlib.Path.lchmod"], &[Path(Permissions, Receiver)]),
    entry(
        &["pathlib.Path.rename", "pathlib.Path.replace"],
        &[Path(Delete, Receiver), Path(Write, At(0, "target"))],
    ),
    entry(
        &["pathlib.Path.symlink_to", "pathlib.Path.hardlink_to", "pathlib.Path.link_to"],
        &[Path(Write, Receiver), Path(Read, At(0, "target"))],
    ),
    entry(&["open.write", "open.writelines", "tempfile.NamedTemporaryFile.write"], &[Writes]),
    entry(&["open.truncate"], &[Path(Truncate, Receiver)]),
    entry(&["zipfile.ZipFile.extractall", "tarfile.open.extractall"], &[Path(Write, At(0, "path"))]),
    entry(
        &["fabric.Connection.put", "paramiko.SSHClient.open_sftp.put"],
        &[Path(Read, At(0, "local")), Signal("file_sent")],
    ),
];

const PROGRAMS: &[Entry] = &[
    entry(
        &["os.system", "os.popen", "os.popen2", "os.popen3", "os.popen4", "popen2.popen2", "popen2.popen3"],
        &[Shell(At(0, "command"))],
    ),
    entry(&["subprocess.getoutput", "subprocess.getstatusoutput"], &[Shell(At(0, "cmd"))]),
    entry(&["commands.getoutput", "commands.getstatusoutput", "commands.getstatus"], &[Shell(At(0, "cmd"))]),
    entry(&["asyncio.create_subprocess_shell", "asyncio.subprocess_shell"], &[Shell(At(0, "cmd"))]),
    entry(&["asyncio.create_subprocess_exec"], &[ProgramFrom(0)]),
    entry(&["os.execv", "os.execve", "os.execvp", "os.execvpe"], &[Program(At(1, "args"))]),
    entry(&["os.execl", "os.execle", "os.execlp", "os.execlpe"], &[ProgramFrom(1)]),
    entry(&["os.posix_spawn", "os.posix_spawnp"], &[Program(At(1, "argv"))]),
    entry(&["os.spawnv", "os.spawnve", "os.spawnvp", "os.spawnvpe"], &[Program(At(2, "args"))]),
    entry(&["os.spawnl", "os.spawnle", "os.spawnlp", "os.spawnlpe"], &[ProgramFrom(2)]),
    entry(&["os.startfile"], &[Path(Execute, At(0, "path"))]),
    entry(&["pty.spawn"], &[Program(At(0, "argv"))]),
    entry(&["pexpect.spawn", "pexpect.run", "pexpect.popen_spawn.PopenSpawn"], &[Shell(At(0, "command"))]),
    entry(
        &["plumbum.local.cmd.run", "invoke.run", "invoke.sudo", "fabric.api.run"],
        &[Shell(At(0, "command"))],
    ),
    entry(&["fabric.api.sudo", "fabric.api.local", "fabric.operations.run"], &[Shell(At(0, "command"))]),
    entry(
        &["fabric.Connection.run", "fabric.Connection.sudo", "fabric.Connection.local", "invoke.Context.run"],
        &[Shell(At(0, "command"))],
    ),
    entry(&["paramiko.SSHClient.exec_command", "_.exec_command"], &[Shell(At(0, "command"))]),
    entry(
        &["docker.from_env.containers.run", "docker.DockerClient.containers.run"],
        &[Shell(At(1, "command"))],
    ),
    entry(
        &["IPython.get_ipython.system", "get_ipython.system", "get_ipython.getoutput"],
        &[Shell(At(0, "cmd"))],
    ),
    entry(&["execfile", "runpy.run_path"], &[Path(Execute, At(0, "path"))]),
    entry(&["code.interact", "code.InteractiveConsole"], &[]),
    entry(
        &[
            "code.InteractiveInterpreter.runsource",
            "code.InteractiveConsole.push",
            "code.InteractiveConsole.runsource",
        ],
        &[Code(At(0, "source"))],
    ),
    entry(&["timeit.timeit", "timeit.repeat", "timeit.Timer"], &[Code(At(0, "stmt")), Code(At(1, "setup"))]),
    entry(
        &[
            "cProfile.run",
            "cProfile.runctx",
            "cProfile.Profile.run",
            "cProfile.Profile.runctx",
            "profile.run",
            "profile.runctx",
            "profile.Profile.run",
            "profile.Profile.runctx",
            "pdb.run",
            "pdb.runctx",
            "pdb.runeval",
            "pdb.Pdb.run",
            "bdb.Bdb.run",
            "trace.Trace.run",
            "trace.Trace.runctx",
        ],
        &[Code(At(0, "statement"))],
    ),
];

const NETWORK: &[Entry] = &[
    entry(
        &["requests.get", "httpx.get", "requests.head", "httpx.head"],
        &[Url(Fetch, Some("GET"), At(0, "url"))],
    ),
    entry(
        &["requests.Session.get", "httpx.Client.get", "httpx.AsyncClient.get"],
        &[Url(Fetch, Some("GET"), At(0, "url"))],
    ),
    entry(&["aiohttp.ClientSession.get", "urllib3.request"], &[Url(Fetch, Some("GET"), At(0, "url"))]),
    entry(
        &["requests.post", "httpx.post", "requests.Session.post"],
        &[Url(Send, Some("POST"), At(0, "url"))],
    ),
    entry(
        &["httpx.Client.post", "httpx.AsyncClient.post", "aiohttp.ClientSession.post"],
        &[Url(Send, Some("POST"), At(0, "url"))],
    ),
    entry(
        &[
            "requests.put",
            "httpx.put",
            "requests.Session.put",
            "httpx.Client.put",
            "aiohttp.ClientSession.put",
        ],
        &[Url(Send, Some("PUT"), At(0, "url"))],
    ),
    entry(
        &["requests.patch", "httpx.patch", "requests.Session.patch", "aiohttp.ClientSession.patch"],
        &[Url(Send, Some("PATCH"), At(0, "url"))],
    ),
    entry(
        &["requests.delete", "httpx.delete", "requests.Session.delete", "aiohttp.ClientSession.delete"],
        &[Url(Send, Some("DELETE"), At(0, "url"))],
    ),
    entry(
        &["urllib.request.urlretrieve", "wget.download"],
        &[Url(Fetch, Some("GET"), At(0, "url")), Path(Write, At(1, "filename"))],
    ),
    entry(
        &["websocket.create_connection", "websockets.connect", "websocket.WebSocketApp"],
        &[Url(Connect, None, At(0, "url"))],
    )
    .gives(Taint::NETWORK),
    entry(
        &["socket.socket.send", "socket.socket.sendall", "socket.socket.sendto", "socket.socket.sendfile"],
        &[Sends],
    ),
    entry(&["websocket.create_connection.send", "websockets.connect.send"], &[Sends]),
    entry(&["http.client.HTTPConnection.send", "http.client.HTTPSConnection.send"], &[Sends]),
    entry(&["socket.socket.recv", "socket.socket.recvfrom", "socket.socket.makefile"], &[])
        .gives(Taint::NETWORK.and(Taint::SOCKET)),
    entry(&["ftplib.FTP", "ftplib.FTP_TLS"], &[Url(Connect, None, At(0, "host"))]),
    entry(&["ftplib.FTP.storbinary", "ftplib.FTP.storlines", "ftplib.FTP_TLS.storbinary"], &[Sends]),
    entry(&["smtplib.SMTP", "smtplib.SMTP_SSL"], &[Url(Connect, None, At(0, "host"))]),
    entry(&["smtplib.SMTP.sendmail", "smtplib.SMTP.send_message", "smtplib.SMTP_SSL.sendmail"], &[Sends]),
    entry(&["smtplib.SMTP_SSL.send_message"], &[Sends]),
    entry(&["telnetlib.Telnet"], &[Url(Connect, None, At(0, "host"))]).gives(Taint::NETWORK),
    entry(&["paramiko.SSHClient.connect", "paramiko.Transport"], &[Url(Connect, None, At(0, "hostname"))]),
    entry(&["fabric.Connection"], &[Url(Connect, None, At(0, "host"))]),
    entry(
        &[
            "boto3.client.upload_file",
            "boto3.resource.Bucket.upload_file",
            "boto3.resource.meta.client.upload_file",
        ],
        &[Path(Read, At(0, "Filename")), Signal("file_sent")],
    ),
    entry(&["boto3.client.put_object", "boto3.resource.Object.put"], &[Sends]),
    entry(&["xmlrpc.client.ServerProxy"], &[Url(Connect, None, At(0, "uri"))]),
];

const DATA: &[Entry] = &[
    entry(
        &["print", "pprint.pprint", "pprint.pp", "sys.stdout.write", "logging.info", "logging.debug"],
        &[Prints],
    ),
    entry(&["logging.warning", "logging.error", "json.dump"], &[Prints]),
    entry(&["pandas.read_sql", "pandas.read_sql_query", "duckdb.sql", "duckdb.query"], &[Sql(At(0, "sql"))]),
    entry(&["spark.sql"], &[Sql(At(0, "sqlQuery"))]),
];
