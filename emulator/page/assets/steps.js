// A value that changes in steps over time: its value at a time, and its mean over a period.

export class Steps {
  constructor() {
    this.times = [];
    this.values = [];
    this.sums = [];
  }

  /** Make the value `value` from `time` on. A time before the last one counts as the last one. */
  set(time, value) {
    const last = this.times.length - 1;
    if (last >= 0 && time <= this.times[last]) {
      this.values[last] = value;
      return;
    }
    if (last >= 0 && this.values[last] === value) return;
    this.sums.push(last < 0 ? 0 : this.sums[last] + this.values[last] * (time - this.times[last]));
    this.times.push(time);
    this.values.push(value);
  }

  /** The value at a time; 0 before the first. */
  at(time) {
    const place = this.#place(time);
    return place < 0 ? 0 : this.values[place];
  }

  /** The mean from `begin` to `end`. */
  mean(begin, end) {
    return end > begin ? (this.#integral(end) - this.#integral(begin)) / (end - begin) : this.at(begin);
  }

  /** The largest value from `begin` to `end`. */
  most(begin, end) {
    let most = this.at(begin);
    for (let place = this.#place(begin) + 1; place < this.times.length && this.times[place] < end; place += 1) {
      most = Math.max(most, this.values[place]);
    }
    return most;
  }

  #integral(time) {
    const place = this.#place(time);
    return place < 0 ? 0 : this.sums[place] + this.values[place] * (time - this.times[place]);
  }

  /** The index of the last step at or before a time, -1 before the first. */
  #place(time) {
    let low = 0;
    let high = this.times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

/** Steps from changes [time, by how much], in any order. */
export function stepsOf(changes) {
  const steps = new Steps();
  let value = 0;
  const sorted = changes.sort((a, b) => a[0] - b[0]);
  for (let place = 0; place < sorted.length; place += 1) {
    value += sorted[place][1];
    if (place + 1 === sorted.length || sorted[place + 1][0] > sorted[place][0]) steps.set(sorted[place][0], value);
  }
  return steps;
}
