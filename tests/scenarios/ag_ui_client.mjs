// AG-UI's own client: asks an agent, says yes to what it is asked, asks once more; tells it all.
import { pathToFileURL } from "node:url";

const [library, url, key, ...questions] = process.argv.slice(2);
const { HttpAgent, buildResumeArray } = await import(pathToFileURL(library).href);

const agent = new HttpAgent({ url, headers: { Authorization: `Bearer ${key}` }, threadId: "node" });
const asked = [];
const outcomes = [];
const watching = {
  onRunFinishedEvent: ({ event }) => void outcomes.push(event.outcome?.type ?? "none"),
  onRunErrorEvent: ({ event }) => void outcomes.push(event.message),
};

for (const [number, question] of questions.entries()) {
  agent.addMessage({ id: `q${number}`, role: "user", content: question });
  await agent.runAgent({}, watching);
  while (agent.pendingInterrupts.length > 0) {
    asked.push(...agent.pendingInterrupts.map((each) => each.message));
    const yes = { status: "resolved", payload: { approved: true } };
    const answers = Object.fromEntries(agent.pendingInterrupts.map((each) => [each.id, yes]));
    await agent.runAgent({ resume: buildResumeArray(agent.pendingInterrupts, answers) }, watching);
  }
}
console.log(JSON.stringify({ asked, outcomes, messages: agent.messages }));
