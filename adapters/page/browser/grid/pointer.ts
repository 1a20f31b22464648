// The pointer while its button is down.

/** How often a resting pointer is reported again, in milliseconds: one beyond an edge keeps the grid scrolling. */
const REST_MS = 60

/** Follows the pointer everywhere until its button is released. The pressed element may be redrawn meanwhile. */
export function followPointer(onMove: (x: number, y: number) => void, tellsRest = false): void {
  const ending = new AbortController()
  const { signal } = ending
  let again = (): void => undefined
  const resting = setInterval(() => tellsRest && again(), REST_MS)
  const move = ({ clientX, clientY }: PointerEvent): void => {
    again = () => onMove(clientX, clientY)
    again()
  }
  document.addEventListener('pointermove', move, { signal })
  for (const name of ['pointerup', 'pointercancel'] as const) {
    document.addEventListener(name, () => ending.abort(), { signal })
  }
  signal.addEventListener('abort', () => clearInterval(resting))
}

/**
 * Whether a finger chose something on a narrow screen. There a tap on a cell opens the row, which fills the screen: a
 * cell of the grid has no room for editing.
 */
export function isTapOnPhone(event: MouseEvent): boolean {
  const { pointerType } = event as PointerEvent
  return pointerType === 'touch' && matchMedia('(max-width: 720px)').matches
}
