// Calls and latency over time, drawn from the table that says the same. When the table is asked for
// anew, the charts are drawn from what it says then.
(() => {
  "use strict";
  const { one, all } = window.portico;
  const table = () => one("#figures-table table");
  if (!table()) return;
  const colour = (name) => {
    const probe = document.createElement("i");
    probe.className = `figures-c-${name}`;
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  };
  const faint = (rgb, share) => rgb.replace(/^rgb\((.*)\)$/, `rgba($1, ${share})`);
  const read = () => {
    const columns = [[], [], [], [], []];
    for (const row of all("tbody tr", table())) {
      columns[0].push(Number(row.dataset.at));
      for (let at = 1; at < 5; at += 1) {
        const text = row.cells[at].textContent.trim(), number = Number(text);
        columns[at].push(text === "" || Number.isNaN(number) ? null : number);
      }
    }
    return columns;
  };
  const shapes = {
    calls: ([at, calls, wrong]) => [at, calls, wrong].map((each, n) => (n ? each.map((value) => value || null) : each)),
    latency: ([at, , , p50, p95]) => [at, p50, p95],
  };
  const bars = uPlot.paths.bars({ size: [0.7, 22], radius: 0.2, align: 1 });
  const whole = (plot, value) => (value === null ? "–" : String(value));
  const some = (plot, value) => String(value ?? 0);
  const series = {
    calls: () => [
      { label: "calls", stroke: colour("ok"), fill: faint(colour("ok"), 0.75), paths: bars, points: { show: false }, value: some },
      { label: "wrong", stroke: colour("bad"), fill: colour("bad"), paths: bars, points: { show: false }, value: some },
    ],
    latency: () => [
      { label: "p50", stroke: colour("p50"), width: 1.8, points: { show: true, size: 4 }, value: whole },
      { label: "p95", stroke: colour("p95"), width: 1.8, points: { show: true, size: 4 }, fill: faint(colour("p95"), 0.1), value: whole },
    ],
  };
  const hour = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const day = new Intl.DateTimeFormat([], { day: "numeric", month: "short" });
  const when = (at) => { // as whoever looks writes it; where a day begins, the day
    const date = new Date(at * 1000);
    return (date.getHours() || date.getMinutes() ? hour : day).format(date);
  };
  const plots = new Map();
  const made = (holder) => {
    const name = holder.dataset.chart;
    const axis = { stroke: colour("axis"), grid: { stroke: colour("grid"), width: 1 }, ticks: { show: false }, font: "11px Inter" };
    return new uPlot({
      width: Math.max(280, holder.clientWidth - 20), height: 190, cursor: { y: false },
      axes: [{ ...axis, space: 74, values: (plot, splits) => splits.map(when) }, { ...axis, size: 46 }],
      scales: { y: { range: (plot, low, high) => [0, Math.max(name === "calls" ? 4 : 10, (high ?? 0) * 1.1)] } },
      series: [{ value: (plot, at) => (at === null ? "–" : new Date(at * 1000).toLocaleString([], { dateStyle: "short", timeStyle: "short", hourCycle: "h23" })) }, ...series[name]()],
    }, shapes[name](read()), holder);
  };
  const draw = () => {
    for (const holder of all("[data-chart]")) {
      plots.get(holder)?.destroy();
      holder.replaceChildren();
      plots.set(holder, made(holder));
    }
  };
  draw();
  document.addEventListener("htmx:after:swap", (event) => {
    if (!table() || !(event.target.closest?.("#figures-table") || event.detail?.ctx?.target?.id === "figures-table")) return;
    const columns = read();
    for (const [holder, plot] of plots) plot.setData(shapes[holder.dataset.chart](columns));
  });
  document.addEventListener("portico:theme", draw);
  let due = 0;
  addEventListener("resize", () => { clearTimeout(due); due = setTimeout(draw, 150); });
  window.porticoCharts = plots;
})();
