//! The agent's side is called when its action is resolved: with what was decided and its checkpoint, until it takes it.

use banksman_core::{Case, Decision, JobStatus};
use banksman_engine::{EngineError, ProposeRequest, ResumeTarget};
use banksman_notify::SendError;
use banksman_store::{Job, JobQuery};

use crate::world::{HOUR, World, later};

const BODY: &str = r#"{"tool":"refund","args":{"amount":5},"checkpoint":{"thread_id":"t-1"},
                       "resume":{"url":"https://agents.example/resume/7"},"thread":"t-1"}"#;

impl World {
    fn allow(&self, target: &str) {
        self.engine.allow_resuming_at(vec![ResumeTarget::parse(target).unwrap()]);
    }

    async fn held_to_resume(&self) -> std::sync::Arc<Case> {
        self.allow("https://agents.example/resume/");
        self.propose(BODY).await
    }

    async fn jobs(&self) -> Vec<Job> {
        self.engine.jobs(JobQuery { limit: 10, ..JobQuery::default() }).await.unwrap()
    }

    fn calls(&self) -> Vec<(String, String, serde_json::Value)> {
        self.agent_side.calls.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn a_decision_calls_the_agent_with_what_was_decided_and_its_checkpoint() {
    for (decision, kind) in [(Decision::Approve, "approve"), (Decision::Deny, "reject")] {
        let world = World::new().await;
        let case = world.held_to_resume().await;
        world.work().await;
        assert_eq!(world.calls(), [], "nobody has decided");
        let decided = world.decide(&case, decision).await;
        world.work().await;
        world.work().await;
        let [(url, id, body)] = world.calls().try_into().unwrap();
        assert_eq!(url, "https://agents.example/resume/7");
        assert_eq!(body["idempotency_key"], id);
        assert_eq!(body["checkpoint"]["thread_id"], "t-1");
        assert_eq!(body["action"]["id"], case.id.to_string());
        assert_eq!(body["action"]["status"], decided.status().as_str());
        assert_eq!(body["action"]["args"]["amount"], 5);
        assert_eq!(body["resume"]["decisions"][0]["type"], kind);
        assert_eq!((&body["by"], &body["reason"]), (&"ann".into(), &"because".into()));
        assert_eq!(world.jobs().await[0].status, JobStatus::Done);
    }
}

#[tokio::test]
async fn what_nobody_decided_in_time_is_told_as_what_it_is() {
    let world = World::new().await;
    world.held_to_resume().await;
    world.pass(5 * HOUR);
    world.work().await;
    let [(_, _, body)] = world.calls().try_into().unwrap();
    assert_eq!((&body["action"]["status"], body.get("by")), (&"expired".into(), None));
    assert_eq!(body["resume"]["decisions"][0]["type"], "reject");
}

#[tokio::test]
async fn one_approval_of_two_is_not_what_ended_it() {
    let body = BODY.replace("refund", "pair");
    for withdrawn in [false, true] {
        let world = World::new().await;
        world.allow("https://agents.example/resume/");
        let case = world.propose(&body).await;
        world.decide(&case, Decision::Approve).await;
        if withdrawn {
            world.engine.cancel(&world.bea, case.id, None).await.unwrap();
        }
        world.pass(5 * HOUR);
        world.work().await;
        let [(_, _, body)] = world.calls().try_into().unwrap();
        let status = if withdrawn { "cancelled" } else { "expired" };
        assert_eq!(body["action"]["status"], status);
        for member in ["decision", "by", "reason", "message"] {
            assert_eq!(body.get(member), None, "{body}");
        }
        assert_eq!(body["resume"]["decisions"][0]["type"], "reject");
    }
}

#[tokio::test]
async fn it_is_called_again_under_the_same_name_until_it_takes_it() {
    let world = World::new().await;
    let case = world.held_to_resume().await;
    world.agent_side.answers.lock().unwrap().extend([later("502"), later("timed out")]);
    world.decide(&case, Decision::Approve).await;
    for _ in 0..5 {
        world.work().await;
        world.pass(HOUR);
    }
    let calls = world.calls();
    assert_eq!(calls.len(), 3);
    assert!(calls.iter().all(|(_, id, _)| *id == calls[0].1));
    let [job] = world.jobs().await.try_into().unwrap();
    assert_eq!((job.status, job.attempt, job.error), (JobStatus::Done, 3, None));
}

#[tokio::test]
async fn what_is_given_up_waits_for_a_person() {
    let world = World::new().await;
    let case = world.held_to_resume().await;
    world.agent_side.answers.lock().unwrap().extend([SendError::never("answered 404")]);
    world.decide(&case, Decision::Approve).await;
    world.work().await;
    world.pass(24 * HOUR);
    world.work().await;
    let [job] = world.jobs().await.try_into().unwrap();
    assert_eq!(
        (job.status, job.error.as_deref(), world.calls().len()),
        (JobStatus::Dead, Some("answered 404"), 1)
    );
    let again = world.engine.retry_job(&world.ann, job.id).await.unwrap();
    assert_eq!(again.status, JobStatus::Waiting);
    let dropped = world.engine.drop_job(&world.ann, job.id).await.unwrap();
    assert_eq!(dropped.status, JobStatus::Dropped);
    world.work().await;
    assert_eq!(world.calls().len(), 1, "dropped");
    world.engine.retry_job(&world.ann, job.id).await.unwrap();
    world.work().await;
    assert_eq!((world.calls().len(), world.jobs().await[0].status), (2, JobStatus::Done));
    assert!(world.engine.retry_job(&world.ann, job.id).await.is_err(), "it is done");
    assert!(world.engine.drop_job(&world.ann, job.id).await.is_err(), "it is done");
}

#[tokio::test]
async fn nobody_is_called_whom_the_installation_does_not_name() {
    let world = World::new().await;
    let propose = async || {
        let request =
            ProposeRequest::from_json(banksman_core::json::parse(BODY.as_bytes()).unwrap(), None).unwrap();
        world.engine.propose(&world.riley, request).await
    };
    assert!(matches!(propose().await, Err(EngineError::Invalid(problem)) if problem.contains("resume")));
    let case = world.held_to_resume().await;
    world.allow("https://elsewhere.example/");
    world.decide(&case, Decision::Approve).await;
    world.work().await;
    assert_eq!((world.calls(), world.jobs().await[0].status), (vec![], JobStatus::Dead), "no longer allowed");
}
