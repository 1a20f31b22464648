// Inputs that once found a bug, by target, in base64. A comment describes each bug.

export const FOUND: Readonly<Record<string, readonly string[]>> = {
  'JSON rows': [
    // [{"a":12.5,"b":"2024-02-29"},{"a":0,"b":01},…: found when the byte scanner accepted leading zeros on purpose.
    'W3siYSI6MTIuNSwiYiI6IjIwMjQtMDItMjkifSx7ImEiOjAsImIiOjAxfSx7ImEiOjEuMCwiYiI6LTFlLTV9XQ==',
  ],
  'intake of JSON': [
    // A row of a table without columns has no line of CSV: nothing is promised for it.
    'e3s6e1t7fV19Og==',
    // A text with an escape returns from CSV without it: the comparison must be by value.
    'ey0wImRhdGEiXFwiMjAyNC1wMnwxcDBcIjIwaHR0cHM6Ly9leGFtcGxlLmNvbTBodHRwczovL2V4YW1wbGUuY29tNWEie1t7IjEyOjMwIjoiXHUwMGU5In1dPQ==',
  ],
}
