-- The views of a recording.  docs/recording.md has each with its question, a query and its output.

-- What frames are: a row for each function, inlined ones first (position 0 is the innermost).
CREATE VIEW frames AS
SELECT f.id AS frame, coalesce(l.position, 0) AS position, f.kind,
  CASE f.kind WHEN 'python' THEN p.name WHEN 'mark' THEN f.mark_name
    ELSE coalesce(l.function, f.name,
      coalesce(m.name || '+', '') || printf('0x%x', coalesce(nullif(f.function, 0), f.offset)))
    END AS function, -- a nameless one by its start, if that is known
  CASE f.kind WHEN 'python' THEN p.file WHEN 'mark' THEN f.mark_file ELSE l.file END AS file,
  CASE f.kind WHEN 'python' THEN f.python_line ELSE l.line END AS line,
  m.name AS module
FROM frame f LEFT JOIN function p ON p.id = f.python_func
  LEFT JOIN location l ON l.frame = f.id LEFT JOIN module m ON m.id = f.module;

-- Where a stack is: its innermost function, and its innermost Python function.
CREATE VIEW places AS
SELECT s.id AS stack, f.function, f.module,
  p.function AS python, p.file AS python_file, p.line AS python_line
FROM stack s JOIN frames f ON f.frame = s.frame AND f.position = 0
  LEFT JOIN stack t ON t.id = s.python
  LEFT JOIN frames p ON p.frame = t.frame AND p.position = 0;

-- 1. Which threads are there, and in which states was each?  The kernel's own counts.
CREATE VIEW threads AS
SELECT p.pid, t.tid, t.name, t.main, t.python, t.ended,
  round(t.start_ns / 1e9, 3) AS start_s,
  -- Of ended ones that were merged the sum; while the file grows a living one has no end.
  round(CASE WHEN t.n_folded THEN t.lived_ns WHEN t.ended OR t.closed THEN t.end_ns - t.start_ns
    ELSE (SELECT value FROM meta WHERE key = 'end_ns') - t.start_ns END / 1e9, 3) AS wall_s,
  round(t.cpu_ns / 1e9, 3) AS run_s, round(t.runqueue_ns / 1e9, 3) AS wait_cpu_s,
  round(t.off_cpu_ns / 1e9, 3) AS blocked_s,
  t.usage_voluntary + t.usage_involuntary AS switches,
  t.usage_minor_faults + t.usage_major_faults AS faults
FROM thread t JOIN process p ON p.id = t.process
ORDER BY t.cpu_ns DESC;

-- 2. Which functions take the time?  By self and total wall time, of all threads.
CREATE VIEW functions AS
WITH RECURSIVE
  leaf AS (
    SELECT stack, sum(wall) AS wall, sum(wall) FILTER (WHERE state = 1) AS run,
      sum(wall) FILTER (WHERE state = 2) AS wait_cpu, sum(wall) FILTER (WHERE state = 3) AS blocked
    FROM spot WHERE stack IS NOT NULL GROUP BY stack),
  up (leaf, stack) AS (
    SELECT stack, stack FROM leaf
    UNION ALL SELECT up.leaf, s.parent FROM up JOIN stack s ON s.id = up.stack
    WHERE s.parent IS NOT NULL),
  named AS (
    SELECT up.leaf, f.function, f.file, f.module,
      max(up.leaf = up.stack AND f.position = 0) AS self
    FROM up JOIN stack s ON s.id = up.stack JOIN frames f ON f.frame = s.frame
    GROUP BY up.leaf, f.function, f.file, f.module)
SELECT n.function, n.file, n.module,
  round(coalesce(sum(l.wall) FILTER (WHERE n.self), 0) / 1e9, 3) AS self_s,
  round(sum(l.wall) / 1e9, 3) AS total_s,
  round(coalesce(sum(l.run), 0) / 1e9, 3) AS run_s,
  round(coalesce(sum(l.wait_cpu), 0) / 1e9, 3) AS wait_cpu_s,
  round(coalesce(sum(l.blocked), 0) / 1e9, 3) AS blocked_s
FROM named n JOIN leaf l ON l.stack = n.leaf
GROUP BY n.function, n.file, n.module
ORDER BY sum(l.wall) DESC;

-- Whom a wait is for, in words.
CREATE VIEW wait_words AS
SELECT w.id AS wait, w.kind, w.call, w.object, w.thing, m.point AS mount, m.type AS mount_type,
  l.name AS lock,
  CASE w.other_kind
    WHEN 'thread' THEN printf('%s (%d)', coalesce(
      (SELECT name FROM thread t JOIN process p ON p.id = t.process
       WHERE t.tid = w.other_tid AND p.pid = w.other_pid), 'thread'), w.other_tid)
    WHEN 'process' THEN printf('%s (%d)', coalesce(w.other_name,
      (SELECT comm FROM process WHERE pid = w.other_pid), 'process'), w.other_pid)
    WHEN 'gone' THEN printf('thread %d, which is gone', w.other_tid)
    WHEN 'children' THEN printf('any of %d children', w.other_n)
    WHEN 'several' THEN printf('%d processes', w.other_n)
    WHEN 'peer' THEN w.other_host || coalesce(':' || nullif(w.other_port, 0), '')
    WHEN 'client' THEN coalesce('client ' || w.other_host || ':' || w.other_port, 'a client of :' || w.other_local_port)
    WHEN 'listener' THEN 'whoever connects to ' || w.other_host || coalesce(':' || nullif(w.other_port, 0), '')
    WHEN 'shared' THEN printf('whoever shares inode %d', w.other_inode)
    WHEN 'itself' THEN 'itself' END AS who
FROM wait w LEFT JOIN mount m ON m.id = w.mount
  LEFT JOIN lock l ON l.pid = w.other_pid AND l.address = w.address AND w.address != 0;

-- 3. What is waited for, and who has it?  Of all threads, idle ones too.
CREATE VIEW top_waits AS
WITH words AS MATERIALIZED (SELECT * FROM wait_words)
SELECT round(sum(s.wall) / 1e9, 3) AS blocked_s, count(DISTINCT s.thread) AS threads,
  sum(s.waits) AS times, w.kind, w.call, w.object, w.thing, w.lock, w.who
FROM spot s JOIN words w ON w.wait = s.wait
WHERE s.state = 3
GROUP BY w.kind, w.call, w.object, w.thing, w.lock, w.who
ORDER BY sum(s.wall) DESC;

-- 4. Which system calls, on which files and sockets, took how long, and where were they made?
CREATE VIEW system_calls AS
WITH words AS MATERIALIZED (SELECT * FROM wait_words)
SELECT round(sum(s.wall) / 1e9, 3) AS blocked_s, sum(s.waits) AS times, w.call, w.object, w.mount,
  w.mount_type, p.function, p.python, p.python_file AS file, p.python_line AS line
FROM spot s JOIN words w ON w.wait = s.wait LEFT JOIN places p ON p.stack = s.stack
WHERE s.state = 3 AND w.call IS NOT NULL
GROUP BY w.call, w.object, w.mount, p.function, p.python, p.python_file, p.python_line
ORDER BY sum(s.wall) DESC;

-- 5. Where do threads wait for a CPU?
CREATE VIEW cpu_waits AS
SELECT round(sum(s.wall) / 1e9, 3) AS wait_cpu_s, t.name AS thread, p.function, p.module, p.python,
  p.python_file AS file, p.python_line AS line
FROM spot s JOIN thread t ON t.id = s.thread LEFT JOIN places p ON p.stack = s.stack
WHERE s.state = 2
GROUP BY t.name, p.function, p.module, p.python, p.python_file, p.python_line
ORDER BY sum(s.wall) DESC;

-- 6. Who takes page faults, and where?  The kernel's totals of a thread, and those that were seen
-- around samples, by function.
CREATE VIEW page_faults AS
SELECT t.name AS thread, t.tid, t.usage_minor_faults AS minor, t.usage_major_faults AS major,
  sum(s.near_faults) AS seen, p.function, p.module, p.python, p.python_file AS file,
  p.python_line AS line
FROM spot s JOIN thread t ON t.id = s.thread LEFT JOIN places p ON p.stack = s.stack
WHERE s.near_faults > 0
GROUP BY t.id, p.function, p.module, p.python, p.python_file, p.python_line
ORDER BY sum(s.near_faults) DESC;

-- 7. What did one thread do, one thing after the other?  The ids of its runs rise with time.
CREATE VIEW time_line AS
SELECT t.tid, t.name, round(r.start / 1e9, 3) AS at_s,
  strftime('%Y-%m-%dT%H:%M:%fZ', (
    SELECT nullif(value, 0) FROM meta WHERE key = 'start_utc_ns') / 1e9 + r.start / 1e9 +
    coalesce((SELECT sum(paused_ns) FROM pause WHERE at_ns <= r.start) / 1e9, 0),
    'unixepoch') AS utc,
  round(r.wall / 1e6, 1) AS ms, state.name AS state, p.function, p.python, p.python_file AS file, p.python_line AS line,
  w.call, w.object, w.who, r.stack, nullif(r.waits, 0) AS waits
FROM run r JOIN thread t ON t.id = r.thread JOIN state ON state.id = r.state
  LEFT JOIN places p ON p.stack = r.stack LEFT JOIN wait_words w ON w.wait = r.wait
ORDER BY r.thread, r.id;

-- Waits of event loops, and the threads that run one: those that wait so again and again, or whose
-- stack has a loop's function.
CREATE VIEW loop_waits AS
SELECT id AS wait FROM wait
WHERE call IN ('epoll_wait', 'epoll_pwait', 'epoll_pwait2', 'poll', 'ppoll', 'select', 'pselect6');
CREATE VIEW loop_threads AS
WITH RECURSIVE
  loop AS (
    SELECT id AS stack FROM stack WHERE frame IN (
      SELECT frame FROM frames
      WHERE function IN ('BaseEventLoop._run_once', 'uv_run', 'event_base_loop', 'ev_run'))),
  below (stack) AS (
    SELECT stack FROM loop UNION SELECT s.id FROM below JOIN stack s ON s.parent = below.stack)
SELECT thread FROM spot WHERE wait IN (SELECT wait FROM loop_waits)
GROUP BY thread HAVING sum(runs) > 1
UNION SELECT thread FROM spot WHERE stack IN (SELECT stack FROM below);

-- 8. When did an event loop not come back to its wait for 50 ms or longer, and what kept it?  Only
-- where the ids of runs rise with time.  In 30 ms without a sample it may well have come back.
CREATE VIEW loop_stalls AS
WITH
  turn AS (
    SELECT r.id, r.thread, r.start, r.wall, r.state = 0 AND r.wall > 30e6 AS unseen,
      coalesce(r.wait IN (SELECT wait FROM loop_waits), 0) AS waits
    FROM run r JOIN loop_threads USING (thread) JOIN thread t ON t.id = r.thread
    WHERE coalesce(t.n_folded, 0) = 0
      AND (NOT coalesce((SELECT value FROM meta WHERE key = 'step_ns'), 0)
        OR r.start >= (SELECT value FROM meta WHERE key = 'exact_since_ns'))),
  part AS (
    SELECT *, sum(waits OR unseen) OVER so_far AS n, sum(waits) OVER so_far AS came,
      sum(waits) OVER (PARTITION BY thread) AS of
    FROM turn WINDOW so_far AS (PARTITION BY thread ORDER BY id)),
  stall AS (
    SELECT thread, min(start) AS start, sum(wall) AS wall, min(id) AS first, max(id) AS last
    FROM part
    WHERE NOT waits AND NOT unseen AND (came > 0 OR of = 0)
    GROUP BY thread, n HAVING sum(wall) >= 50e6)
SELECT t.tid, t.name, round(s.start / 1e9, 3) AS at_s, round(s.wall / 1e6, 1) AS ms,
  p.function, p.python, p.python_file AS file, p.python_line AS line
FROM stall s JOIN thread t ON t.id = s.thread LEFT JOIN places p ON p.stack = (
  SELECT stack FROM run r
  WHERE r.id BETWEEN s.first AND s.last AND +r.thread = s.thread
  ORDER BY r.wall DESC LIMIT 1)
ORDER BY s.wall DESC;

-- 9. How do processes, or the ranks of one job, differ?
CREATE VIEW processes AS
SELECT p.pid, p.comm, p.environment,
  sum(CASE WHEN t.n_folded THEN t.n_folded ELSE t.id IS NOT NULL END) AS threads,
  round(sum(t.cpu_ns) / 1e9, 3) AS run_s, round(sum(t.runqueue_ns) / 1e9, 3) AS wait_cpu_s,
  round(max(t.cpu_ns) FILTER (WHERE t.main) / 1e9, 3) AS main_run_s,
  round(max(t.off_cpu_ns) FILTER (WHERE t.main) / 1e9, 3) AS main_blocked_s,
  p.python_version AS python, nullif(p.cpu_limits_quota_cpus, 0) AS quota_cpus,
  round(p.cpu_limits_throttled_ns / 1e9, 3) AS throttled_s, p.command
FROM process p LEFT JOIN thread t ON t.process = p.id
GROUP BY p.id ORDER BY p.id;

-- 10. How far can the recording be trusted?  Each number that is not 0; a loss or a doubt is what
-- keeps the quality line from saying "quality ok".
CREATE VIEW quality AS
SELECT key, value, unit, effect, meaning FROM metric WHERE value != 0
ORDER BY CASE effect WHEN 'loss' THEN 1 WHEN 'doubt' THEN 2 WHEN 'note' THEN 3 ELSE 4 END, rowid;

-- 11. Which marks did the user set, and when was the recording paused?  Its time stands still in a
-- pause.
CREATE VIEW marks AS
SELECT round(at_ns / 1e9, 3) AS at_s,
  strftime('%Y-%m-%dT%H:%M:%fZ', utc_ns / 1e9, 'unixepoch') AS utc, text, paused_ns / 1e9 AS paused_s
FROM (
  SELECT at_ns, utc_ns, text, NULL AS paused_ns FROM mark
  UNION ALL SELECT at_ns, utc_ns, NULL, paused_ns FROM pause)
ORDER BY utc_ns;
