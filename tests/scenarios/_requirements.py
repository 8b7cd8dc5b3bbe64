"""What Portico has promised, and where: every row is shown by a test that carries its id."""

from dataclasses import dataclass

ROWS = """
house:floors:hold [design.md §2] Rooms stay apart; a machine holds this.
house:demo:everything [issue 13, build 1] `portico demo` shows everything without keys, network or a
    model, and can be repeated.
house:demo:removed [issue 13, build 1] `portico demo --remove` takes away all of it, and nothing
    else.
house:doctor:unpinned [issue 13, build 1] The doctor recognises servers for an older mcp library,
    and tells the pinned command.
house:doctor:node [issue 13, build 1] The doctor recognises a Node.js that is too old for a server.
house:doctor:box [issue 13, build 1] The doctor says exactly what a machine without a box lacks.
house:doctor:context [issue 13, build 1] The doctor names the agent whose model of Ollama's has too
    little room.
house:doctor:mends [issue 13, build 1] `portico doctor --fix` mends what needs nobody, and says what
    it did.
house:first-minute:unprivileged [design.md §1] An ordinary user installs the wheel, runs init and
    serve, and is answered.
house:first-minute:measured [design.md §4.10] The start is measured by `portico bench start` with
    its conditions.
house:start:loads-late [design.md §7] What is not needed loads late, so that the start stays short
    with every room in.
postgres:access:other-os-user [design.md §3] Another user of the machine cannot connect to the
    embedded database.
postgres:access:password [design.md §3] A process without the password cannot connect to the
    embedded database.
postgres:access:no-tcp [design.md §7] The embedded database listens on no port.
postgres:access:no-trust [design.md §3] No line of pg_hba.conf says trust.
postgres:root:refused [design.md §3] As root the embedded database refuses unless a setting names an
    account to run as.
postgres:windows:refused [design.md §6] On Windows the embedded database refuses and names WSL or a
    DSN.
postgres:heals:kill [design.md §1] After a kill -9 of the postmaster the database starts again with
    its rows.
postgres:heals:storm [design.md §1] Killed again and again under four writers, every acknowledged
    row stays and the server heals without a restart.
postgres:data:never-replaced [design.md §1] A database that is gone is told as gone, and never
    replaced by an empty one.
cli:server:met-in-private [design.md §6] The command line meets its own server on a private socket,
    and sends no key elsewhere.
settings:sources:trust [design.md §4] A file that came with a folder decides nothing trusted and
    reads no variables.
postgres:backup:restores [design.md §1] A backup holds every space's rows and is restored whole or
    not at all.
postgres:schema:sum-of-migrations [design.md §3] The committed schema equals the sum of the
    migrations.
postgres:schema:upgrades [design.md §3] The database of every earlier version can be brought to this
    one.
postgres:schema:development [issue 28, Build 3] A database of a development version is refused, with
    a sentence that says so and what to do.
postgres:schema:under-traffic [issue 13, Must show] While a database of any earlier version is
    migrated, its version goes on writing, and nothing that was acknowledged is lost.
postgres:schema:short-locks [issue 13, Must show] A migration that waits for a table lets others
    pass.
postgres:backup:way-back [issue 13, Must show] On a database of a later version the one before comes
    back by the backup that it made.
postgres:upgrade:rows [issue 13, Build 2] The embedded database goes from PostgreSQL 16 to 18 with
    every row and every wall.
postgres:upgrade:killed [issue 13, Build 2] An upgrade that is killed leaves a database that works,
    and can be repeated.
team:worker:killed [issue 13, Must show] Of two workers with a PostgreSQL over TCP one is killed:
    nothing that was acknowledged is lost, and runs end once.
proxy:nginx:every-door [issue 13, Build 2] REST, MCP and the console work behind nginx with TLS, set
    up as the docs say.
proxy:nginx:streams [issue 13, Build 2] Behind nginx a stream is not held back.
proxy:nginx:foreign-names [issue 13, Build 2] A foreign Host or Origin that comes through nginx is
    refused.
postgres:shared:last-one-out [design.md §3] Several processes share the embedded database; the last
    one out stops it.
guard:keys:revoked-at-once [design.md §4.2] A revoked key is refused by every server within a
    second.
isolation:space:raw-queries [design.md §4.1] No query of the application role finds a row of another
    space.
isolation:space:no-context [design.md §4.2] Without a space every table is empty.
isolation:space:writes [design.md §4.1] No write reaches another space.
isolation:space:repositories [design.md §4.1] No repository gives a row of another space.
isolation:catalogue:forced [design.md §4.2] Every table with space_id has forced row-level security;
    the application owns nothing.
http:walls:host-and-origin [design.md §6] A strict Host and Origin guard stands in front of every
    route.
http:walls:bearer [design.md §6] A bearer key stands in front of every face.
http:writes:idempotent [design.md §4.8] A write repeated under its key is done once and answered
    alike.
http:problems:rfc9457 [design.md §6; seed 002, Error Handling] Every failure is an RFC 9457 problem
    with a stable code and a fix.
http:problems:no-echo [seed 004, Security] What was sent is not repeated in an error.
http:openapi:holds [design.md §6] The OpenAPI 3.1 document and the server agree; no request breaks
    the server.
guard:keys:never-logged [seed 004, Security] Keys and passwords appear in no log, error or stored
    row.
telemetry:redaction:everything [design.md §3] No secret appears in a log, a trace or a metric,
    whoever tells it.
telemetry:http:route-only [design.md §3] A request is told by its method, route and status, never by
    what it carries.
telemetry:slow-calls:told [design.md §1] What is slow is told with its name and time, as a warning
    and then as an error.
telemetry:export:only-if-asked [design.md §3] Nothing is sent anywhere unless the user sets an OTLP
    endpoint.
telemetry:metrics:prometheus [design.md §3] What was counted and timed can be had as Prometheus
    text.
telemetry:metrics:behind-a-key [design.md §6] Metrics need a bearer key that may read them.
telemetry:dashboard:every-metric [design.md §1] The dashboard that ships shows every metric there
    is, and asks for no other.
kernel:errors:kind-and-code [design.md §6] Every error has a kind, a title and a stable code of its
    own.
kernel:ids:typed-and-sortable [design.md §4] Ids are typed, prefixed on the wire, and sort as time
    does.
kernel:json:canonical [design.md §4.6] Equal values have one canonical text, and what is no JSON has
    none.
kernel:label:lattice [design.md §4.3] Labels form a lattice under join and meet.
kernel:label:no-write-down [design.md §4.3; seed 004, Visibility] Nothing is written below what was
    read or above the writer's clearance.
kernel:budget:never-exceeded [design.md §4.9] A cap is never passed in any dimension.
guard:keys:format [design.md §4.2; seed 004, Auth] A key has an id, 256 secret bits and a checksum
    that finds any one changed letter.
guard:keys:never-shown [seed 004, Auth] A key that is printed shows its id alone.
guard:keys:stored-as-hmac [seed 004, Auth] A key is stored as an HMAC under a pepper and proven by
    all of it.
guard:keys:only-the-living-open [design.md §4.2] No revoked or expired key opens, nor one of a
    disabled principal.
guard:keys:never-widen [design.md §4.2] A key never widens what its principal may.
guard:keys:expiry [design.md §4.2] A key ends when it expires or is revoked.
guard:keys:last-used [design.md §4.2] A key's last use is noted to the minute.
guard:keys:rotate-with-overlap [design.md §4.2] Both keys work during the overlap, then only the new
    one.
guard:keys:revoke [design.md §4.2] A revoked key opens nothing, and may be revoked again.
guard:invitations:single-use [design.md §4.2] An invitation works once and is good for nothing else.
guard:principals:no-escalation [design.md §4.2] No sequence of use cases gives anybody more than
    they were given.
guard:principals:disable [design.md §4.2] Whoever is disabled is out at once.
guard:spaces:found [design.md §4.1] A space is born whole or not at all, and is its admin's alone.
guard:spaces:export [design.md §4.1] An export holds every row of the space at one moment, and
    nothing that proves a key.
guard:spaces:delete [design.md §4.1] A space is deleted only by saying its name, with everything in
    it.
guard:spaces:walls [design.md §4.1] What is in another space does not exist, for any method of any
    door.
engine:migrations:checksum [design.md §3] An edited migration or a newer database is refused.
engine:migrations:forward-only [design.md §3] Each migration is applied once, in order, by one
    migrator, whole or not at all.
engine:idempotency:once [design.md §4.8] A write repeated under its key is done once; a failed one
    leaves nothing.
engine:idempotency:nobody-elses [design.md §4.8] Nobody gets another principal's or another space's
    receipt.
engine:events:gap-free [design.md §4.7] Each topic's entries are numbered without a gap and read in
    the order in which they became visible, by every reader once, however often it breaks off.
engine:events:labels [design.md §4.3, §4.7] What is above a reader leaves no trace in its stream,
    nor in its cursors.
engine:events:cursors [design.md §4.7] A cursor is opaque, and opens nothing in another space or for
    other topics.
engine:events:reset [design.md §4.7] A reader that stood at what is no longer kept is told, and goes
    on with what there is.
engine:events:text [design.md §4.7] Text is told live piece by piece, and kept every 250 ms.
engine:events:no-leak [design.md §7] When the last reader has left, nothing of a topic is left in
    the process.
runs:start:once [design.md §4.8] A run asked for twice under one key is one run, and nobody can
    claim another's.
runs:steps:once [design.md §1] A step that is done is not done again, and whoever was taken over
    writes nothing more.
runs:steps:failures-kept [design.md §3] A step's failure is the same the first time and each time
    the run goes on.
runs:replay:same-order [house-style.md §4.2] Whenever its process dies, a run sees the same results
    in the same order again.
runs:waits:hold-nothing [design.md §3] A run that only waits takes up no process, and one that does
    something is not put away.
runs:database:away [design.md §1] While the database is away a run waits for it, and does nothing
    twice.
runs:cancel:at-once [design.md §3] A run that is being carried out is stopped at once.
runs:resume:where-it-was [design.md §3] A run that failed goes on where it was, and tries again only
    what failed.
runs:fork:from-a-step [design.md §3] A fork has done what came before a step, and does the rest
    under keys of its own.
runs:signal:first-counts [design.md §4.6] The first answer to a run counts.
runs:drill:shows-takeover [design.md §1] Anybody can see by a drill that work survives the death of
    its process.
cli:runs:tail [design.md §6] A run can be followed to its end from the command line, across restarts
    of the server.
isolation:label:rows [design.md §4.2, §4.3] Rows above a caller's clearance are not there, and
    cannot be written.
isolation:engine:no-payload [design.md §4.2] The engine's role reads ids, states and times of every
    space, and nothing people wrote.
http:events:sse [design.md §6] Events come as server-sent events, of one run or of several topics in
    one stream.
http:events:resume [design.md §6] A stream is taken up again by Last-Event-ID or ?after=, without a
    gap or a repetition.
http:events:reset [design.md §4.7] A stream says when what came before is no longer kept.
http:events:asked-again [design.md §4.2] A stream ends with its key, and shows less once the
    clearance is lowered.
http:events:slow-clients [design.md §7] A client that does not read is let go, and can come again.
http:events:shutdown [design.md §7] When the server ends, its streams end at once.
http:events:page [design.md §6] The events of a run can be had page by page.
http:events:soak [design.md §7] A process serves a thousand streams, each complete, and does not
    grow.
settings:sources:precedence [design.md §5] Flag over environment over project over user over
    provisioned over default.
settings:sources:origin [design.md §5] Each value says where it came from, with file and line.
settings:file:validated [seed 000, config validator] An invalid configuration is told with file,
    line and fix.
settings:secrets:hidden [seed 002, API Key Management] Neither settings nor their errors show a
    secret.
settings:change:keeps-the-rest [design.md §5] Changing one setting leaves the rest of the file
    alone.
settings:paths:portico-home [design.md §6] PORTICO_HOME holds everything.
settings:server:open-needs-a-name [design.md §6] A server open to the network must say its public
    name.
cli:exits:codes [design.md §6] Each failure has its documented exit code.
cli:output:json-everywhere [design.md §6] Every answer and failure can be had as JSON.
cli:errors:name-the-fix [design.md §6] A failure is told with its code and its fix.
engine:contract:one-suite [design.md §3] Work runs on DBOS, or inline where nothing need survive,
    under one contract.
engine:storm:nothing-lost [design.md §1] Kill any process, or the database: no effect is lost, and
    none is doubled by its key.
engine:takeover:prompt [design.md §3] What a dead worker had begun goes on elsewhere, without
    anybody's help.
engine:fence:stops [design.md §3] A worker that is not sure of its lease stops.
engine:graph:never-swaps [design.md §2] A run that is taken up again gives the same, and repeats no
    finished step.
engine:claim:one-at-a-time [design.md §4.8] Nobody but the last to claim a run can write into it.
engine:roles:ids-only [design.md §4.1] The engine sees every space, and of each run its ids alone.
engine:roles:app-knows-no-queue [design.md §4.1] The application has no right on the queue's own
    tables.
engine:secrets:not-told [design.md §4.7] No event holds a secret, whatever a work says or raises.
engine:flight:a-thousand [design.md §7] A thousand runs are in flight on four processes.
gateway:servers:real [design.md §1] Real servers from npm and PyPI are started, listed, found and
    called.
gateway:processes:soak [design.md §3] Clients that are killed leave no process, no zombie and no
    memory behind.
gateway:upstreams:hung [design.md §3] A server that hangs delays no list and no search.
gateway:headers:none-pass [design.md §3] No header of a caller reaches a server.
gateway:approval:nothing-before [design.md §4.5] Nothing that a server says reaches a model before
    somebody has approved it.
gateway:pins:every-mutation [design.md §4.5] Any change of a tool's definition changes its pin; the
    order of its keys does not.
gateway:effects:no-write-as-read [design.md §4.4] No tool that writes is proposed as one that reads.
gateway:schemas:hostile [design.md §3] A stranger's schema is refused, or checked in bounded steps,
    and fetches nothing.
gateway:reading:one-by-one [design.md §4.5] A definition that cannot be used spoils no other.
gateway:names:nothing-hidden [design.md §4.5] No name or text with hidden letters in it is let in.
gateway:cards:within-budget [design.md §5] Tools are rendered within a budget of tokens, never over
    it.
gateway:import:clients [design.md §1] Every client that is here is found, and its servers are read.
gateway:import:secrets-stay [docs/decisions/0073] No secret of a client's file gets anywhere else;
    only references to it do.
gateway:import:never-written [design.md §5] Client files are read and never written.
gateway:import:shown-and-approved [design.md §4.4] The exact command of each server is shown, and
    exactly that is approved.
gateway:import:dry-run [design.md §6] A dry run shows what there is and changes nothing.
gateway:import:yes-accepts-reads [design.md §4.4] `init --yes` lowers the effect only of what is
    proposed as reading.
gateway:import:live [design.md §5] Changes of portico.toml and of imported files take effect while
    the server runs.
box:files:no-escape-in-a-race [design.md §3] No file outside its folder is opened, whatever an
    attacker changes meanwhile.
box:code:hostile-programs-contained [design.md §3] Hostile programs read nothing, end within their
    limits, and harm no other program.
box:servers:canaries [design.md §3] A real server in its default profile works, and reaches nothing
    outside of it.
box:probes:as-published [design.md §3] Every attempt to get out of a box ends as the published table
    says, wherever it is.
box:probes:every-wall-holds-something [design.md §3] Without any one wall of a box a named attempt
    gets out.
box:runs:hostile-leave-nothing [design.md §3] Hostile programs leave no process, no file and no
    memory behind.
web:canary:never-reached [design.md §3] No address, name, redirect or proxy that somebody names
    leads to this machine.
web:allow:exactly [design.md §3] An allow-entry opens its host at its port, and nothing else.
web:gate:only-one [design.md §3] Everything that leaves for an address that was given passes one
    gate.
audit:tamper:flip [design.md §2, guard] Each byte of an entry and of its hash is held by the chain.
audit:tamper:delete [design.md §2, guard] An entry that was deleted is missed.
audit:tamper:reorder [design.md §2, guard] Entries that changed places are found.
audit:tamper:insert [design.md §2, guard] An entry that was put in is found.
audit:tamper:truncate [design.md §2, guard] An end that was cut off is found by an exported head.
audit:append:only-by-function [design.md §2, guard] The application role can add to the audit of its
    space, and nothing else.
audit:act:together [design.md §2, guard] An act and its entry are written together or not at all.
guard:effects:gate [design.md §4] No call does more than was allowed, whatever servers say of
    themselves, on any path; with any one gate taken out, some would.
guard:limits:across-processes [design.md §4] Limits hold within 5 % across 4 processes under load.
guard:budgets:never-passed [design.md §4.9] What 4 processes reserve together never passes a cap.
guard:secrets:declared-only [design.md §4] Only the secrets that a launch declares reach a child.
guard:secrets:canaries [design.md §4] A secret is found in no row, log, event, trace, error or child
    that it was not meant for.
guard:secrets:own-file-only [decision 0043] A file that came with a project cannot name a secret of
    ours.
guard:vault:rotates [design.md §4] The key that seals can be exchanged while processes seal, and
    nothing is lost.
guard:approval:single-use [design.md §4] An approval is never used twice, never for another call,
    and never lost, whoever is killed when.
guard:approval:uncertain [design.md §4.8] A call that may have been made is uncertain, and only a
    person has it made again.
guard:approval:holds-nothing [design.md §4.6] Requests that wait hold no place in line.
guard:table:every-route [design.md §4] Every route, method, tool and command lets in whoever has its
    scope, and nobody else.
guard:tokens:hostile-refused [design.md §4] A token that is not exactly what its issuer made for
    this server opens nothing.
guard:logins:own-token [design.md §4] Nobody's call carries another's token, however calls are
    interleaved.
guard:hidden-text:no-false-alarm [design.md §4.5] The rules for hidden and confusable letters find
    nothing in real tools.
workflows:storm:every-event [design.md §1] Killed after any event, a plan comes to the end that it
    would have come to.
workflows:storm:uncertain [design.md §4.8] A change of which nobody knows whether it was made is
    never made again but by a person.
workflows:storm:many [design.md §1] Many plans on four processes that are killed all end, and no
    change is made twice.
workflows:size:bounded [design.md §7] A thousand steps, and two hundred plans at once, lose no
    event, and memory is bounded.
programs:hostile:contained [design.md §4.8] Hostile programs that call tools reach nothing that
    their caller may not have.
programs:storm:every-event [design.md §1] Killed after any event, a program goes on from its last
    turn to the same end.
programs:storm:uncertain [design.md §4.8] A change of a program of which nobody knows is never made
    again but by a person.
agents:storm:every-point [design.md §1] Killed at any point, a run of an agent finishes elsewhere,
    and nothing is paid for twice.
agents:loop:cut-off-anywhere [issue 9] A run of an agent that is cut off anywhere ends as if it had
    not been: what is written down is not asked for again, and no call is made twice.
agents:budgets:never-passed [issue 9] Whatever servers say of what they used, however long they go
    on, no limit of a run is passed; with any one rule of the books taken out, one would be.
agents:models:real-model [issue 9] A real model answers by the protocols of OpenAI and of Anthropic:
    in pieces, held to a form, cut short, counted, four at once.
agents:models:wire [issue 9] OpenAI's, Anthropic's and Ollama's protocols: chat, stream, tools,
    several tools at once, 429, 5xx, and streams that are malformed or break off.
agents:models:ollama-truncation [issue 9] A prompt that Ollama has not read whole is told as that
    before its answer counts.
agents:data:crud [seed 002:124; issue 9] Agents are made, read, changed, removed and listed by what
    they are.
agents:data:every-fault [issue 9] Everything that is wrong with an agent is told at once, each fault
    with its field.
agents:data:toml [issue 9] An agent is taken out as TOML and brought in as it was.
agents:data:principal [issue 9] An agent is a principal of its own, with its label and its list of
    tools.
agents:data:labels [design.md §4.3] What a secret agent is told counts as read by whoever reads it.
agents:traces:query [seed 002:405; issue 9] Runs are found by agent, status, time, tool, error and
    text.
agents:traces:own [issue 9] What is said in a run is for its starter, and for those who may read
    others' traces.
agents:traces:otlp [issue 9] A trace is exported under the ids that it was written with, and without
    its words.
gateway:graph:never-ranks [design.md §5] The learnt graph never ranks search.
gateway:graph:clearance [design.md §4.3] Nobody is told an edge, a tool or a figure of the graph
    that is above their clearance.
gateway:graph:poison [design.md §4.4] One task that is made to go round in circles teaches the graph
    little.
ahead:safety:gates [design.md §5; issue 8] Whoever foretells, nothing that may change something is
    called before it is asked for, and nobody is given what was read for another, or for other
    arguments; with any one gate taken out, it would happen.
ahead:safety:intents [design.md §5; issue 8] Whatever somebody says that they want, nothing is read
    ahead for it that would not be read ahead otherwise, nor before it is sure enough, nor with a
    stranger's words outside.
ahead:safety:learnt [design.md §5; issue 8] What habits foretell is as safe, is never tried before
    it was seen often enough by whoever had read no more, and what is learnt has nobody's values in
    it.
ahead:poison:bounded [issue 8, must show] A server that makes a task go in circles brings its own
    edges no further than any other task does.
ahead:memory:bounded [issue 8, must show] What waits, what is counted and what is learnt stays
    bounded, whatever is observed.
ahead:writes:staged [design.md §5; issue 8] Of a plan that is run ahead only what it reads first is
    read; what it changes is changed when it is run.
seed001:01 [seed 001, AC 1; decision 0122] Graphs are computed by a maintained library behind one
    port, chosen by measurement.
seed001:02 [seed 001, AC 2; design.md §5] The learnt graph is read from PostgreSQL into memory, and
    kept up with what is learnt.
seed001:03 [seed 001, AC 3; design.md §5] PageRank says how central a tool is, and never orders what
    is found.
seed001:04 [seed 001, AC 4; decision 0122] Tools that are used together are found as communities.
seed001:05 [seed 001, AC 5] The shortest and the likeliest way from one tool to another is found.
seed001:06 [seed 001, AC 6; design.md §5] A plan is closed over what its tools usually need, by
    edges that were learnt from real calls.
seed001:07 [seed 001, AC 7; issue 8] `just bench graph` measures reading, ranks, communities,
    ways and updates, with conditions.
seed001:08 [seed 001, AC 8] The arithmetic of the graph is tested against what it must be, case by
    case.
seed001:09 [seed 001, AC 9; design.md §5] What is sure enough by its record is read before it is
    asked for; the rest is only watched.
seed001:10 [seed 001, AC 10; design.md §5; decision 0119] Only what an operator knows to be a read
    is called ahead, never by its name, within bounds of number, time and money.
seed001:11 [seed 001, AC 11] Where nothing can be read ahead, or it fails, the same plan is
    suggested.
seed001:12 [seed 001, AC 12; issue 8] An intent is answered in one of three modes:
    explicit_required, suggestion, ran_ahead.
seed001:13 [seed 001, AC 13] Accepted, rejected and modified are told apart, said or seen by what is
    run.
seed001:14 [seed 001, AC 14; design.md §5; decision 0126] The threshold stays within 0.85 and 0.99
    and is moved only by what callers accepted, not by what a tool says of itself.
seed001:15 [seed 001, AC 15; design.md §5] Coverage, exact hits, waste and saved time are counted,
    in sum and an edge.
seed001:16 [seed 001, AC 16] A suggestion tells by which ways its steps hang together.
seed001:17 [seed 001, AC 17] A way is told in words, as direct or by way of others.
seed001:18 [seed 001, AC 18] The graph is exported as JSON of nodes and links.
seed001:19 [seed 001, AC 19] Every hop of a way has its own confidence.
bridge:clients:three-at-once [issue 10, must show] The official SDK in both eras and the Inspector
    talk on one conversation at once.
bridge:mcp:1600-tokens [issue 10, build 7] At most 16 tools cover the bridge over MCP, for no more
    than 1,600 tokens together.
bridge:table:shared-task [issue 10, must show] Two running agents and a person finish a small shared
    task.
bridge:leaks:none [issue 10, must show] By no way out of the bridge is anybody told what is above
    them.
bridge:leaks:each-wall-alone [issue 10, must show] Row-level security alone and the application's
    filter alone each stop all.
bridge:leaks:over-the-wires [issue 10, must show] Over REST, streams and MCP nobody is told what is
    above them.
bridge:leaks:twins [issue 10, must show] What is hidden changes nothing in what a low reader is
    told.
bridge:labels:no-write-down [issue 10, must show] In no trace does anything flow down; every
    declassification has its record.
bridge:connect:cannot-loop [issue 10, build 7] Connected agents that name each other for ever come
    to an end.
bridge:connect:once [issue 10, build 7] A connected agent that is killed and connected again answers
    nothing twice.
bridge:unread:exact [issue 10, must show; design.md §4.5] The count of what is unread equals what
    one would find by looking, whatever happened.
bridge:walls:each-alone [issue 10, must show] Each of the two walls alone hides what is above a
    reader and what is closed.
bridge:storm:nothing-lost [issue 10, must show] Whoever is killed or cut off, every acknowledged
    message is there once and in order.
bridge:bench:names [issue 10, names] `just bench bridge` tells its figures under the names that
    were promised.
debate:walls:each-alone [issue 11, must show] The database alone and the application alone each hide
    what somebody may not read.
debate:leaks:none [issue 11, must show] By no way out of a debate is anybody told what is above
    them, or another's alone.
debate:leaks:each-wall-alone [issue 11, must show] Row-level security alone and the application's
    filter alone each stop all of it.
debate:leaks:twins [issue 11, must show] What is hidden changes nothing for a low debater: no list,
    weight, budget or error.
debate:labels:confidential [issue 11, must show] A debate on confidential memory gives a
    confidential synthesis, and the low see nothing.
debate:promotion:a-person [issue 11 §7] A debate is read by others below its label once another
    person said yes to every word.
debate:voices:live-model [issue 11, must show] Four voices of a live model vote at once, in the form
    of a vote and word by word.
debate:voices:vendors [issue 11, must show] Voices of three vendors vote, each over the wire of its
    own.
debate:voices:programs [issue 11, must show] The real claude, codex and gemini vote, and are ended
    with all that they have started.
debate:storm:every-step [issue 11, must show] Killed after any step, a debate and an analysis decide
    the same and pay once.
debate:mcp:900-tokens [issue 11 §8] All six tools of debates cost a model at most 900 tokens.
console:screens:axe [issue 12, must show] Every screen is free of violations of WCAG 2.2 AA in light
    and dark, and of complaints.
console:screens:keyboard [issue 12, must show] The main action of every screen is done by the
    keyboard alone.
console:screens:live [issue 12, must show] What happens behind an open screen shows on it without a
    reload.
console:screens:states [issue 12, must show] A screen with nothing on it, or on which something is
    refused, says what to do.
console:hostile:none-runs [issue 12, must show] Of two hundred hostile texts on every screen none
    runs, nor is any taken for markup.
console:clearance:nothing-above [issue 12, must show] Whoever is cleared for less sees nothing above
    it on any screen, search, count or stream.
console:live:reconnects [issue 12, must show] A page whose server was killed says so, comes again,
    and shows the truth.
console:files:small [issue 12, must show] No template, script or style sheet has more than 300
    lines; the budget holds how long a module may be.
first-hour:connect:own-bytes [issue 13, must show] connect and disconnect change only our own bytes
    of a client's file, of any form.
first-hour:connect:rewritten [issue 13, must show] Of a file that its client wrote anew in between,
    disconnect takes out our entry alone.
first-hour:connect:malformed [issue 13, must show] A malformed file of a client is refused with its
    place and a fix, and never written.
first-hour:connect:used [issue 13, build 1] The entry that connect writes is one by which an
    official client lists tools.
first-hour:tutorials:as-printed [issue 13, must show] Every tutorial is executed end to end by a
    test that types its commands as printed.
first-hour:docs:no-dead-link [issue 13, must show] No link of a page leads nowhere, nor out of the
    site.
first-hour:docs:metrics [issue 13, §3] Every metric is in the reference, written from the code.
first-hour:docs:benchmarks [issue 13, §3] The page of benchmarks is written from recorded answers
    with their conditions.
first-hour:docs:llms [issue 13, §3] llms.txt has every page, and is never stale.
first-hour:architecture:traced [issue 13, §5] Two requests are followed through the rooms by files
    that are there.
release:first-minute:answered [issue 13, must show] A wheel is installed, `init --yes` asks nothing,
    and the first call is answered.
release:build:reproducible [issue 13, build 1] Wheel and sdist are the same bytes wherever they are
    built; an sdist needs no git.
release:build:small [issue 13, must show] The wheel has at most five megabytes.
release:version:from-tags [issue 13, build 6] The newest tag says which version it is.
release:licences:agreed [issue 13, build 6] A licence that nobody has agreed to stops the build of
    the page that lists them.
release:audit:counted [issue 13, build 6] An audit that did not look at every package is none.
release:extras:told [issue 13, build 1] Who asks for what an extra brings is told how to get it.
release:import:light [issue 13, must show] Importing portico takes at most 100 ms of processor time.
release:image:linted [issue 13, build 2] hadolint finds nothing in the Dockerfile.
release:image:confined [issue 13, build 2] The image runs as an ordinary user, on a root that is
    read-only.
staying:up:one-server [issue 13, build 2] However often it is asked for at once, one server is
    started, and everybody is told.
staying:supervised:comes-back [issue 13, build 2] A server that is killed is started again, and what
    it left behind goes.
staying:supervised:gives-up [issue 13, build 2] One that dies again and again is given up, and its
    log and status say why.
staying:down:nothing-left [issue 13, build 2] After `down` no process is left, whatever was killed
    before.
staying:login:unit [issue 13, build 2] A unit of systemd and an agent of launchd start it at login.
staying:uninstall:only-ours [issue 13, build 2] Uninstalling removes all that is Portico's, and
    nothing else.
"""
"""Each an id, its source in brackets, and a sentence that may go on in an indented line."""


@dataclass(frozen=True)
class Requirement:
    id: str
    source: str
    sentence: str


def _read(row: str) -> Requirement:
    name, rest = row.split(" [", 1)
    source, sentence = rest.split("] ", 1)
    return Requirement(name, source, sentence)


REQUIREMENTS = [_read(row) for row in ROWS.strip().replace("\n    ", " ").splitlines()]
