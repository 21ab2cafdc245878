// The time that is looked at: now, or any moment of a recorded run, which passes at any speed.

export const SPEEDS = [0.1, 1, 10, 60, 300, 1000, 3000, 10000];

export class Player {
  constructor(endS) {
    this.endS = endS;
    this.timeS = 0;
    this.speed = 1;
    this.isPlaying = false;
    this.lastHostS = null;
  }

  /** Let the time pass until the host's clock reads `hostS`. */
  pass(hostS) {
    if (this.isPlaying && this.lastHostS !== null) {
      this.timeS += (hostS - this.lastHostS) * this.speed;
      if (this.timeS >= this.endS) {
        this.timeS = this.endS;
        this.isPlaying = false;
      }
    }
    this.lastHostS = hostS;
  }

  /** Play from here, or from the beginning if this is the end; or pause. */
  toggle() {
    if (!this.isPlaying && this.timeS >= this.endS) this.timeS = 0;
    this.isPlaying = !this.isPlaying;
    this.lastHostS = null;
  }

  seek(timeS) {
    this.timeS = Math.min(this.endS, Math.max(0, timeS));
  }

  /** A speed at which the whole run takes about half a minute. */
  static speedFor(endS) {
    return SPEEDS.find((speed) => speed >= endS / 40) ?? SPEEDS[SPEEDS.length - 1];
  }
}
