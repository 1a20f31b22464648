export default function Page() {
  return 'my page'
}
