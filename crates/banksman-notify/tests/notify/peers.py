"""Holds what Banksman sends against the providers' own libraries.

Standard input: {"slack": [BODY...], "views": [VIEW...], "line": [BODY...], "webhook": [{"headers", "body", "key"}...],
"signed": {"slack": {"secret", "at", "body", "signature"}, "line": {"secret", "body", "signature"}}}
"""

import json
import sys

from linebot.v3.messaging import PushMessageRequest
from linebot.v3.webhook import SignatureValidator
from slack_sdk.models.blocks import Block
from slack_sdk.models.views import View
from slack_sdk.signature import SignatureVerifier
from standardwebhooks.webhooks import Webhook


def kept(value):
    """A value without what the library adds on its own account."""
    if isinstance(value, dict):
        return {key: kept(item) for key, item in value.items() if item is not None and key != "notificationDisabled"}
    if isinstance(value, list):
        return [kept(item) for item in value]
    return value


sent = json.load(sys.stdin)

for body in sent["slack"]:
    blocks = Block.parse_all(body["blocks"])
    assert len(blocks) == len(body["blocks"])
    for block, written in zip(blocks, body["blocks"]):
        block.validate_json()
        assert block.to_dict()["type"] == written["type"]

for view in sent["views"]:
    View(**view).validate_json()

for body in sent["line"]:
    assert kept(PushMessageRequest.from_dict(body).to_dict()) == body

for event in sent["webhook"]:
    Webhook(event["key"]).verify(event["body"], event["headers"])

slack, line = sent["signed"]["slack"], sent["signed"]["line"]
verifier = SignatureVerifier(slack["secret"])
assert verifier.generate_signature(timestamp=slack["at"], body=slack["body"]) == slack["signature"]
assert SignatureValidator(line["secret"]).validate(line["body"], line["signature"])

print(len(sent["slack"]), len(sent["views"]), len(sent["line"]), len(sent["webhook"]))
