/** A line of a chart. */
export interface Line {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** Which of the chart's hues; 0 is the accent. */
  readonly hue: 0 | 1 | 2 | 3;
}
