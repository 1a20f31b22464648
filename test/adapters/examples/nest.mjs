import 'reflect-metadata'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { nodeHandler, openDirectory } from 'rowstash/node'

const store = await openDirectory('./data')
const keys = [{ key: process.env.API_KEY ?? '', teamId: 'default' }]
class App {}
Module({ controllers: [] })(App) // @Module({ controllers: [] }) in TypeScript
const app = await NestFactory.create(App)
app.use('/api', nodeHandler(store, { keys })) // before app.listen, which adds body parsers
await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
process.once('SIGTERM', () => app.close().then(() => store.close()))
