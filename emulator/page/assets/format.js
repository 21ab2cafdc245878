// Numbers and durations as people read them. All durations are emulated seconds.

/** 7 -> "7.0 s", 83 -> "1 min 23 s", 5000 -> "1 h 23 min"; a missing value -> a dash. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const size = Math.abs(seconds);
  if (size < 0.0005) return "0 s";
  if (size < 1) return `${trim(seconds * 1000, 3)} ms`;
  if (size < 60) return `${seconds.toFixed(1)} s`;
  if (size < 3600) return `${Math.trunc(seconds / 60)} min ${Math.floor(size % 60)} s`;
  if (size < 86400) return `${Math.trunc(seconds / 3600)} h ${Math.floor((size % 3600) / 60)} min`;
  return `${Math.trunc(seconds / 86400)} d ${Math.floor((size % 86400) / 3600)} h`;
}

/** 3723 -> "1:02:03". */
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds || 0));
  const parts = [Math.floor((whole % 3600) / 60), whole % 60].map((part) => String(part).padStart(2, "0"));
  const hours = Math.floor(whole / 3600);
  return hours < 24 ? `${hours}:${parts.join(":")}` : `${Math.floor(hours / 24)} d ${hours % 24}:${parts.join(":")}`;
}

/** At most so many digits, without trailing zeros. */
export function trim(value, digits = 4) {
  return value === null || value === undefined ? "–" : String(Number(value.toPrecision(digits)));
}

/** 0.3456 -> "34.6%". */
export function percent(share) {
  return share === null || share === undefined || !Number.isFinite(share) ? "–" : `${(100 * share).toFixed(1)}%`;
}

/** 1, "job" -> "1 job"; 2, "job" -> "2 jobs". */
export function count(number, word) {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}

/** Steps of a time axis over `span` seconds with about `most` numbers: seconds between two of them. */
export function tickStep(span, most) {
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
  const least = span / Math.max(1, most);
  return steps.find((step) => step >= least) ?? Math.ceil(least / 86400) * 86400;
}

/** A number on a time axis. */
export function tick(seconds, step) {
  if (seconds === 0) return "0";
  if (step < 60) return seconds < 600 ? `${trim(seconds, 6)} s` : clock(seconds);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.round((seconds % 3600) / 60)];
  if (hours === 0) return `${minutes} min`;
  return minutes === 0 ? `${hours} h` : `${hours} h ${minutes}`;
}
