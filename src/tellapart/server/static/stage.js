// jsPsych's timeline as something to await: `await stage.show(trial)` runs one jsPsych trial and gives its data.
// The timeline always ends in a trial that waits; showing adds a trial and another wait behind it, then ends the first wait.

export class Stage {
  constructor(display) {
    this.jsPsych = initJsPsych({ display_element: display });
    this.timeline = [];
    this.rest();
    this.jsPsych.run(this.timeline);
  }

  rest() {
    this.resting = new Promise((begin) => {
      this.timeline.push({ type: jsPsychCallFunction, async: true, func: (done) => begin(done) });
    });
  }

  async show(trial) {
    const goOn = await this.resting;
    return new Promise((resolve) => {
      const finish = trial.on_finish;
      this.timeline.push({ ...trial, on_finish: (data) => { finish?.(data); resolve(data); } });
      this.rest();
      goOn();
    });
  }
}
