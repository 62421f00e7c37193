//! Hops by other hands.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::load;
use crate::target::{Running, Target, at, free_port};

/// Some migrate a database before they listen.
const START: Duration = Duration::from_mins(1);

/// One, as `cargo xtask bench gateway` tells of it. In its words, `{port}` is where it is to listen, `{url}` the server
/// behind it, and `{program}` the same server as a program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Peer {
    pub(crate) name: String,
    command: Vec<String>,
    /// What it calls the server's `echo`.
    tool: String,
}

impl Peer {
    /// Starts it in `folder`, where it may leave what it likes, and waits until it gives the echo.
    pub(crate) async fn start(self, url: &str, folder: &Path) -> Result<Target, String> {
        let port = free_port();
        let words = self.words(port, url);
        let (program, arguments) = words.split_first().ok_or("it has no command")?;
        std::fs::create_dir(folder).unwrap();
        let hop =
            Running::start(Path::new(program), arguments, Some(folder)).map_err(|error| error.to_string())?;
        let Self { name, tool, .. } = self;
        let mut target = Target { name, address: at(port), token: None, tool, hop: Some(hop), is_peer: true };
        let begin = Instant::now();
        loop {
            let Err(problem) = load::try_once(&target).await else { return Ok(target) };
            if let Some(status) = target.hop.as_mut().and_then(Running::ended) {
                return Err(format!("it ended ({status})"));
            }
            if begin.elapsed() > START {
                return Err(problem);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    fn words(&self, port: u16, url: &str) -> Vec<String> {
        let me = std::env::current_exe().unwrap().display().to_string();
        let port = port.to_string();
        let fill = |word: &str| {
            let word = word.replace("{port}", &port).replace("{url}", url);
            word.replace("{program}", &format!("{me} upstream-stdio"))
        };
        // A word that is the program alone stands for its words.
        let words = self.command.iter().flat_map(|word| match word.as_str() {
            "{program...}" => vec![me.clone(), "upstream-stdio".to_owned()],
            word => vec![fill(word)],
        });
        words.collect()
    }
}
