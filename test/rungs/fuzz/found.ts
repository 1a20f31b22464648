// Inputs that were found once, by target, in base64. Each has a comment that says what was wrong.

export const FOUND: Readonly<Record<string, readonly string[]>> = {
  'JSON rows': [
    // [{"a":12.5,"b":"2024-02-29"},{"a":0,"b":01},…: found when the byte scanner took leading zeros on purpose.
    'W3siYSI6MTIuNSwiYiI6IjIwMjQtMDItMjkifSx7ImEiOjAsImIiOjAxfSx7ImEiOjEuMCwiYiI6LTFlLTV9XQ==',
  ],
  'intake of JSON': [
    // A row of a table without columns has no line of CSV: nothing is promised of it.
    'e3s6e1t7fV19Og==',
    // A text with an escape comes back from CSV without it: the comparison has to be by value.
    'ey0wImRhdGEiXFwiMjAyNC1wMnwxcDBcIjIwaHR0cHM6Ly9leGFtcGxlLmNvbTBodHRwczovL2V4YW1wbGUuY29tNWEie1t7IjEyOjMwIjoiXHUwMGU5In1dPQ==',
  ],
}
