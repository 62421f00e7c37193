//! One time of serving: over one store, until the server is told to stop or the store turns out to be another than it was.

use std::sync::Arc;
use std::time::Duration;

use banksman_engine::{Engine, LogSink};
use banksman_http::{App, AppConfig, Hosts, PublicAddress};
use banksman_mcp::Gateway;
use banksman_oidc::Provider;
use banksman_store::postgres::Lineage;
use banksman_store::{Store, StoreError};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::configured::Configured;
use super::welcome::{Welcome, first_start, welcome};
use super::{closed, memory};
use crate::commands::serve::Args;
use crate::context::Context;
use crate::folder::Folder;
use crate::triage::Outside;
use crate::{channels, reload};

/// How long requests that are under way may take once the server is told to stop. Answering takes milliseconds, and
/// whoever waits for people is answered at once; this is about those who stopped in the middle of asking.
const GRACE: Duration = Duration::from_secs(1);

/// How long the store is kept once nothing is done any more.
const LAST_WORDS: Duration = Duration::from_millis(10);

/// How long until it is tried again to begin anew.
const AFTER_FAILURE: Duration = Duration::from_secs(2);

/// What a round is served with.
pub(crate) struct Round<'a> {
    pub(crate) args: &'a Args,
    pub(crate) context: &'a Context,
    pub(crate) folder: &'a Folder,
    pub(crate) configured: &'a Configured,
    pub(crate) lineage: &'a Lineage,
    pub(crate) listener: &'a std::net::TcpListener,
}

/// Why it is over.
pub(crate) enum Ended {
    /// Somebody said so.
    Told,
    /// The store is another than it was: all that is remembered may never have happened there.
    Overtaken(StoreError),
}

/// A server that has started.
struct Running {
    store: Arc<dyn Store>,
    server: JoinHandle<()>,
    workers: Vec<JoinHandle<()>>,
    stop: watch::Sender<bool>,
}

impl Round<'_> {
    /// Serves.
    pub(crate) async fn serve(
        &self,
        mut told_to_stop: watch::Receiver<bool>,
        has_served: bool,
    ) -> anyhow::Result<Ended> {
        let listener = TcpListener::from_std(self.listener.try_clone()?)?;
        let opening = async { if has_served { Ok(self.reopen().await) } else { self.open().await } };
        // That may take as long as a database does. What comes behind it is not broken off: tokens are shown once.
        let (store, engine) = tokio::select! {
            opened = opening => opened?,
            never = closed::answer(&listener), if has_served => match never {},
            _ = told_to_stop.wait_for(|told| *told) => return Ok(Ended::Told),
        };
        let mut running = self.start(listener, store, engine, has_served).await?;
        let ended = tokio::select! {
            ended = &mut running.server => return Ok(ended.map(|()| Ended::Told)?),
            _ = told_to_stop.wait_for(|told| *told) => Ended::Told,
            error = running.store.over() => Ended::Overtaken(error),
        };
        running.stop().await?;
        Ok(ended)
    }

    async fn start(
        &self,
        listener: TcpListener,
        store: Arc<dyn Store>,
        engine: Arc<Engine>,
        has_served: bool,
    ) -> anyhow::Result<Running> {
        let Self { args, context, folder, configured, .. } = self;
        let address = listener.local_addr()?;
        let url = format!("http://{address}");
        let gateway = match configured.mcp.clone() {
            Some(config) => {
                Some(Gateway::new(Arc::clone(&engine), config.reviewed_at(&url), Some(folder.tool_pins()))?)
            }
            None => None,
        };
        let public = args.public_url.clone().unwrap_or_else(|| PublicAddress::local(address));
        let names: Vec<String> = args.allow_host.iter().cloned().chain([public.host().to_owned()]).collect();
        let hosts = Hosts::of(address, &names);
        let reached_at = public.origin().to_owned();
        let provider = configured.identity.clone().map(|config| Provider::new(config, public.origin()));
        let config = AppConfig {
            gateway: gateway.clone(),
            address: public,
            behind_proxy: args.behind_proxy,
            provider,
        };
        let (stop, stopping) = watch::channel(false);
        let app = App::new(Arc::clone(&engine), hosts, stopping.clone(), config);
        if let Err(error) = folder.note_address(&reached_at) {
            tracing::warn!(%error, "links that are made on this machine will not know this address");
        }
        // Not by whether there was a database: an earlier start may have been killed before it had shown anything.
        let first = first_start(&engine, &reached_at).await?;
        if !has_served || first.is_some() {
            let (data, policy) = (folder.path().to_owned(), configured.policy.path().to_owned());
            welcome(context, &Welcome { url, data, policy, first })?;
        }
        let workers = self.start_workers(&engine, &app, gateway.as_ref())?;
        // What starting took, on the thread that did it.
        banksman_memory::give_back();
        let server = tokio::spawn(banksman_http::serve(listener, app, stopping));
        Ok(Running { store, server, workers, stop })
    }

    /// The store and the engine, once they are to be had: whoever served before goes on, however long that takes.
    async fn reopen(&self) -> (Arc<dyn Store>, Arc<Engine>) {
        loop {
            match self.open().await {
                Ok(opened) => return opened,
                Err(error) => {
                    tracing::error!(error = format!("{error:#}"), "cannot begin anew; trying again");
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
        }
    }

    /// The store and the engine, with the policy that is in force.
    async fn open(&self) -> anyhow::Result<(Arc<dyn Store>, Arc<Engine>)> {
        // The key before the database: where there is a database, `banksman token` may come by and wants the same key.
        let signer = self.folder.signer()?;
        let (store, clock) = self.args.database.open_to_serve(self.folder, &signer, self.lineage).await?;
        let policy = &self.configured.policy;
        let judge = policy.in_force();
        let config = self.args.engine_config();
        let engine = Engine::new(Arc::clone(&store), judge, clock, signer, config).await?;
        engine.staff_triage(Arc::new(Outside::new()));
        if let Some(event) = self.lineage.lost() {
            let reason = format!(
                "the database has lost what happened from about event {event} on: see \"Backup and restore\" in docs/operations.md"
            );
            tracing::error!(
                event,
                "the database has lost events that this server had written; freezing everything"
            );
            engine.freeze_everything(reason).await?;
            self.lineage.heeded();
        }
        self.folder.forget_lineage()?;
        engine.load_policy(policy.in_force(), &policy.path().display().to_string()).await?;
        Ok((store, engine))
    }

    fn start_workers(
        &self,
        engine: &Arc<Engine>,
        app: &App,
        gateway: Option<&Arc<Gateway>>,
    ) -> anyhow::Result<Vec<JoinHandle<()>>> {
        let policy = &self.configured.policy;
        let mut workers = match self.configured.channels.clone() {
            Some(config) => channels::open(config, engine, &policy.in_force(), app)?,
            None => engine.start_workers(Arc::new(LogSink)),
        };
        workers.push(tokio::spawn(reload::follow(Arc::clone(engine), policy.clone())));
        workers.extend(gateway.map(Gateway::start_workers));
        workers.push(tokio::spawn(memory::give_back()));
        Ok(workers)
    }
}

impl Running {
    async fn stop(mut self) -> anyhow::Result<()> {
        let _ = self.stop.send(true);
        match tokio::time::timeout(GRACE, &mut self.server).await {
            Ok(finished) => finished?,
            Err(_) => tracing::warn!("some requests did not finish in time"),
        }
        for worker in self.workers {
            worker.abort();
            let _ = worker.await;
        }
        // Whoever waits at another node hears of the last commits a moment after them, while the store is still here.
        tokio::time::sleep(LAST_WORDS).await;
        tracing::info!("stopped");
        Ok(())
    }
}
